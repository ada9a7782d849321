import { judgeSending as decide, type JudgeSending } from '../../domain/reputation/judge-sending.ts';
import { senderIdOf, standing, standingStream } from '../../domain/reputation/standing.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute } from '../execute.ts';

/** Puts on record what follows from the rates of a domain's or an organization's live bulk mail; once, whoever else judges it. */
export const judgeSending = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  judged: JudgeSending,
): Promise<void> => {
  const { organizationId } = judged;
  const senderId = senderIdOf(judged);
  await execute(context, {
    aggregate: standing,
    stream: standingStream(senderId),
    context: eventContext(
      {
        ...{ actor: 'worker:judge-senders', organizationId, environment: 'live', requestId: null },
        ...{ correlationId: senderId, causationId: senderId },
      },
      context.system.now().toISOString(),
    ),
    decide: (state) => decide(state, judged),
  });
};
