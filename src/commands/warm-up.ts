import { dailyQuotaStream, warmUpStream } from '../domain/kernel/streams.ts';
import {
  type DailyQuota,
  dailyQuota,
  dayOf,
  endWarmUp as decideEndWarmUp,
  startWarmUp as decideStartWarmUp,
  type Reservation,
  type ReserveQuota,
  reserveQuota,
  type WarmUp,
  warmUp,
} from '../domain/warm-up/warm-up.ts';
import {
  type CommandContext,
  eventContext,
  execute,
  internalOrigin,
  type LoadedStream,
  type Origin,
} from './execute.ts';

/** Starts a warm-up plan for the caller's domain today (UTC). @throws {DomainError} `resource_conflict`. */
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

/** Ends the warm-up plan of the caller's domain, if there is one. @throws {DomainError} `resource_conflict`. */
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

interface ReserveDailyQuota extends ReserveQuota {
  /** Empty for an IP address of this service, which all organizations share. */
  readonly organizationId: string;
  /** The day's quota as loaded before, possibly stale: saves the read. */
  readonly known: LoadedStream<DailyQuota> | undefined;
}

/**
 * Reserves part of a day's quota for messages that are about to leave. It appends at the revision read, so of several
 * processes that ask for the last of it one gets it.
 * @throws {DomainError} `resource_conflict`.
 */
export const reserveDailyQuota = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { organizationId, known, ...command }: ReserveDailyQuota,
): Promise<Pick<Reservation, 'refusedBy' | 'unused'> & { readonly day: LoadedStream<DailyQuota> }> => {
  const { owner, day } = command;
  const ownerId = 'source' in owner ? owner.source : owner.domainId;
  let reserved: Reservation | undefined;
  const { state, revision } = await execute(context, {
    aggregate: dailyQuota,
    stream: dailyQuotaStream(ownerId, day),
    context: eventContext(
      internalOrigin({
        actor: 'worker:deliver-message',
        organizationId,
        environment: 'source' in owner ? null : 'live',
        causeId: ownerId,
      }),
      context.system.now().toISOString(),
    ),
    decide: (before) => {
      reserved = reserveQuota(before, command);
      return reserved.events;
    },
    ...(known === undefined ? {} : { known }),
  });
  // Set by the last decision, which is the one appended.
  const { refusedBy = [], unused = new Map() } = reserved ?? {};
  return { refusedBy, unused, day: { state, revision } };
};
