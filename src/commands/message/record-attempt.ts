import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import { type AttemptOutcome, recordAttempt as decideRecordAttempt } from '../../domain/message/record-attempt.ts';
import type { MessageContents } from '../../domain/ports/contents.ts';
import { messageStream } from '../../domain/streams.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute, type Loaded } from '../execute.ts';
import { workerOrigin } from './claim-attempt.ts';

export interface RecordAttempt {
  /** As claimed: saves reading it again. */
  readonly message: Loaded<ExistingMessage>;
  /** The one that was claimed: what is read anew may be in the middle of somebody else's. */
  readonly attempt: number;
  readonly outcomes: readonly AttemptOutcome[];
  /** Texts of the replies that the outcomes name. */
  readonly replies: readonly MessageContents[];
  /** In [0, 1). */
  readonly random: number;
}

/**
 * Records what the claimed attempt came to. Nothing is written when the claim was lost meanwhile.
 * @returns the message as it stands then.
 */
export const recordAttempt = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { message: claimed, attempt, outcomes, replies, random }: RecordAttempt,
): Promise<Loaded<ExistingMessage>> => {
  const now = context.system.now().toISOString();
  const { state, revision } = await execute<Message, Parameters<typeof message.evolve>[1]>(context, {
    aggregate: message,
    stream: messageStream(claimed.state.accepted.messageId),
    context: eventContext(workerOrigin(claimed.state, 'deliver-message'), now),
    contents: replies,
    isUrgent: true,
    decide: (before) => decideRecordAttempt(before, { attempt, outcomes, now, random }),
    known: claimed,
  });
  return state.status === 'absent' ? claimed : { state, revision };
};
