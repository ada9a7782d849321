import { DomainError } from '../../domain/domain-error.ts';
import { acceptMessage } from '../../domain/message/accept-message.ts';
import { type ExistingMessage, type Message, message, messageStream } from '../../domain/message/message.ts';
import { requireOwn } from '../../domain/ownership.ts';
import type { MessageBody } from '../../domain/ports/contents.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute, type Loaded } from '../execute.ts';
import type { PreparedMessage } from './prepare-message.ts';
import { storedBody } from './stored-body.ts';

export interface SentMessage {
  readonly message: ExistingMessage;
  readonly body: MessageBody;
  /** This request was made before: nothing new was written. */
  readonly replayed: boolean;
}

const UNHEARD_OF: Loaded<Message> = { state: message.initial, revision: 'no-stream' };

const accept = async (
  context: CommandContext,
  origin: Origin,
  { accept: command, contents }: PreparedMessage,
  known: { readonly known?: Loaded<Message> },
): Promise<SentMessage> => {
  const { state, events } = await execute(context, {
    aggregate: message,
    stream: messageStream(command.accepted.messageId),
    context: eventContext(origin, command.now),
    contents: [contents],
    decide: (before) => acceptMessage(before, command),
    ...known,
  });
  const accepted = requireOwn(state, origin.organizationId, 'message');
  if (events.length > 0) return { message: accepted, body: contents.body, replayed: false };
  return { message: accepted, body: await storedBody(context.contents, accepted), replayed: true };
};

/**
 * Accepts a message durably, and takes for granted that it was not sent before: the append finds out. What would be
 * refused now may have been accepted once, so a repeat is looked for before it is.
 * @throws {DomainError} of `acceptMessage`.
 */
export const acceptPrepared = async (
  context: CommandContext,
  origin: Origin,
  prepared: PreparedMessage,
): Promise<SentMessage> => {
  try {
    return await accept(context, origin, prepared, { known: UNHEARD_OF });
  } catch (error) {
    if (
      !prepared.accept.accepted.idempotent ||
      !(error instanceof DomainError) ||
      error.code === 'idempotency_key_reused'
    )
      throw error;
    return accept(context, origin, prepared, {});
  }
};
