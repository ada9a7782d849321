import { dayOf } from '../../domain/warm-up/day.ts';
import { startWarmUp as decide } from '../../domain/warm-up/start-warm-up.ts';
import { type WarmUp, warmUp, warmUpStream } from '../../domain/warm-up/warm-up.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';

/** Begins a plan for the caller's own domain today (UTC). @throws {DomainError} `resource_conflict`. */
export const startWarmUp = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  command: { readonly domainId: string; readonly caps: readonly number[] },
): Promise<WarmUp> => {
  const now = context.system.now();
  const { state } = await execute(context, {
    aggregate: warmUp,
    stream: warmUpStream(command.domainId),
    context: eventContext({ ...origin, environment: 'live' }, now.toISOString()),
    decide: (before) => decide(before, { ...command, today: dayOf(now) }),
  });
  return state;
};
