import { dayOf } from '../../domain/warm-up/day.ts';
import { endWarmUp as decide } from '../../domain/warm-up/end-warm-up.ts';
import { warmUp, warmUpStream } from '../../domain/warm-up/warm-up.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/** Ends the plan of the caller's own domain, if one runs. @throws {DomainError} `resource_conflict`. */
export const endWarmUp = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  domainId: string,
): Promise<void> => {
  const now = context.system.now();
  await execute(context, {
    aggregate: warmUp,
    stream: warmUpStream(domainId),
    context: eventContext({ ...origin, environment: 'live' }, now.toISOString()),
    decide: (before) => decide(before, { domainId, today: dayOf(now) }),
  });
};
