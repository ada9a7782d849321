import { judgeSending as decide, type JudgeSending } from '../../domain/standing/judge-sending.ts';
import { standing, standingStream } from '../../domain/standing/standing.ts';
import { type CommandContext, eventContext } from '../context.ts';
import { execute } from '../execute.ts';

/** Puts on record what follows from the rates of a domain's live bulk mail; once, whoever else judges it. */
export const judgeSending = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { organizationId, ...judged }: JudgeSending & { readonly organizationId: string },
): Promise<void> => {
  const { domainId } = judged;
  await execute(context, {
    aggregate: standing,
    stream: standingStream(domainId),
    context: eventContext(
      {
        ...{ actor: 'worker:judge-senders', organizationId, environment: 'live', requestId: null },
        ...{ correlationId: domainId, causationId: domainId },
      },
      context.system.now().toISOString(),
    ),
    decide: (state) => decide(state, judged),
  });
};
