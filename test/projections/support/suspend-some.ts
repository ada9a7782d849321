import { releaseDestination, suspendDestination } from '../../../src/commands/destination.ts';
import type { CommandContext, Origin } from '../../../src/commands/execute.ts';

/** Suspends a random destination, and sometimes releases it. @param below a number in [0, limit). */
export const suspendSome = async (context: CommandContext, origin: Origin, below: (limit: number) => number) => {
  const operator = `operator${below(5)}.example`;
  await suspendDestination(context, {
    operator,
    domain: `customers.${operator}`,
    reason: below(2) === 0 ? 'busy' : 'unreachable',
    code: 421,
    enhanced: '4.7.0',
    mx: `mx.${operator}`,
    times: 1 + below(5),
    until: new Date(context.system.now().getTime() + 1 + below(100_000_000)).toISOString(),
  });
  if (below(2) === 0) await releaseDestination(context, origin, operator);
};
