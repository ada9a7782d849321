import { dailyQuotaStream, warmUpStream } from '../domain/streams.ts';
import {
  type DailyQuota,
  dailyQuota,
  type Reserved,
  type ReserveQuota,
  reserveQuota,
} from '../domain/warm-up/daily-quota.ts';
import {
  dayOf,
  endWarmUp as decideEndWarmUp,
  startWarmUp as decideStartWarmUp,
  type WarmUp,
  warmUp,
} from '../domain/warm-up/warm-up.ts';
import { type CommandContext, eventContext, type Origin } from './context.ts';
import { execute, type Loaded } from './execute.ts';

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
    decide: (before) => decideStartWarmUp(before, { ...command, today: dayOf(now) }),
  });
  return state;
};

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
    decide: (before) => decideEndWarmUp(before, { domainId, today: dayOf(now) }),
  });
};

export interface ReserveDailyQuota extends ReserveQuota {
  readonly organizationId: string;
  /** What is known of the day already, stale or not: saves the read. */
  readonly known: Loaded<DailyQuota> | undefined;
}

/**
 * Takes places of a day's caps for messages that are to leave, by appending at the revision read: of several processes
 * that want the last one, one has it.
 * @throws {DomainError} `resource_conflict`.
 */
export const reserveDailyQuota = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { organizationId, known, ...command }: ReserveDailyQuota,
): Promise<Pick<Reserved, 'full' | 'inHand'> & { readonly day: Loaded<DailyQuota> }> => {
  const { domainId, day } = command;
  let allotted: Reserved | undefined;
  const { state, revision } = await execute(context, {
    aggregate: dailyQuota,
    stream: dailyQuotaStream(domainId, day),
    context: eventContext(
      {
        actor: 'worker:deliver-message',
        organizationId,
        environment: 'live',
        requestId: null,
        correlationId: domainId,
        causationId: domainId,
      },
      context.system.now().toISOString(),
    ),
    decide: (before) => {
      allotted = reserveQuota(before, command);
      return allotted.events;
    },
    ...(known === undefined ? {} : { known }),
  });
  // Always decided by then; the last time by what was appended to.
  const { full = [], inHand = new Map() } = allotted ?? {};
  return { full, inHand, day: { state, revision } };
};
