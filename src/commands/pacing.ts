import {
  releaseDestination as decideReleaseDestination,
  suspendDestination as decideSuspendDestination,
  destination,
  type SuspendDestination,
} from '../domain/destination/suspension.ts';
import { dailyQuotaStream, destinationStream, reputationStream, warmUpStream } from '../domain/kernel/streams.ts';
import {
  evaluateReputation as decideEvaluateReputation,
  pauseBulkMail as decidePauseBulkMail,
  releaseSending as decideReleaseSending,
  type EvaluateReputation,
  type Reputation,
  reputation,
  senderIdOf,
} from '../domain/reputation/reputation.ts';
import {
  type DailyQuota,
  dailyQuota,
  dayOf,
  endWarmUp as decideEndWarmUp,
  startWarmUp as decideStartWarmUp,
  type Reserved,
  type ReserveQuota,
  reserveQuota,
  type WarmUp,
  warmUp,
} from '../domain/warm-up/warm-up.ts';
import { type CommandContext, eventContext, execute, internalOrigin, type Loaded, type Origin } from './execute.ts';

/** Records the reputation that follows from the rates of a sender's live bulk mail. Recorded once, also when several processes evaluate it. */
export const evaluateReputation = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  judged: EvaluateReputation,
): Promise<void> => {
  const { organizationId } = judged;
  const senderId = senderIdOf(judged);
  await execute(context, {
    aggregate: reputation,
    stream: reputationStream(senderId),
    context: eventContext(
      internalOrigin({ actor: 'worker:judge-senders', organizationId, environment: 'live', causeId: senderId }),
      context.system.now().toISOString(),
    ),
    decide: (state) => decideEvaluateReputation(state, judged),
  });
};

/**
 * Releases the bulk mail of the caller's domain (or organization, with null) whatever its rates are.
 * @returns whether it had been warned, slowed or paused. @throws {DomainError} `resource_conflict`.
 */
export const releaseSending = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  domainId: string | null,
): Promise<boolean> => {
  const sender = { domainId, organizationId: origin.organizationId };
  const { events } = await execute(context, {
    aggregate: reputation,
    stream: reputationStream(senderIdOf(sender)),
    context: eventContext({ ...origin, environment: 'live' }, context.system.now().toISOString()),
    decide: (state) => decideReleaseSending(state, sender),
  });
  return events.length > 0;
};

/** Pauses all live bulk mail of the caller's organization, or resumes it. @throws {DomainError} `resource_conflict`. */
export const pauseBulkMail = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  paused: boolean,
): Promise<Reputation> => {
  const { organizationId } = origin;
  const { state } = await execute(context, {
    aggregate: reputation,
    stream: reputationStream(organizationId),
    context: eventContext({ ...origin, environment: 'live' }, context.system.now().toISOString()),
    decide: (before) => decidePauseBulkMail(before, { organizationId, paused }),
  });
  return state;
};

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
  readonly organizationId: string;
  /** The day's quota as loaded before, possibly stale: saves the read. */
  readonly known: Loaded<DailyQuota> | undefined;
}

/**
 * Reserves part of a day's quota for messages that are about to leave. It appends at the revision read, so of several
 * processes that ask for the last of it one gets it.
 * @throws {DomainError} `resource_conflict`.
 */
export const reserveDailyQuota = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { organizationId, known, ...command }: ReserveDailyQuota,
): Promise<Pick<Reserved, 'refusedBy' | 'unused'> & { readonly day: Loaded<DailyQuota> }> => {
  const { domainId, day } = command;
  let reserved: Reserved | undefined;
  const { state, revision } = await execute(context, {
    aggregate: dailyQuota,
    stream: dailyQuotaStream(domainId, day),
    context: eventContext(
      internalOrigin({ actor: 'worker:deliver-message', organizationId, environment: 'live', causeId: domainId }),
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

/** Destinations are shared by all organizations. */
const NO_ORGANIZATION = '';

/** Suspends a destination. Recorded once, also when several processes decide it. */
export const suspendDestination = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  suspension: SuspendDestination,
): Promise<void> => {
  const now = context.system.now().toISOString();
  const { operator: provider } = suspension;
  await execute(context, {
    aggregate: destination,
    stream: destinationStream(provider),
    context: eventContext(
      internalOrigin({ actor: 'worker:deliver-message', organizationId: NO_ORGANIZATION, causeId: provider }),
      now,
    ),
    decide: (state) => decideSuspendDestination(state, suspension, now),
  });
};

/** Ends a suspension early. @returns whether it was suspended. */
export const releaseDestination = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  provider: string,
): Promise<boolean> => {
  const now = context.system.now().toISOString();
  const { events } = await execute(context, {
    aggregate: destination,
    stream: destinationStream(provider),
    context: eventContext({ ...origin, environment: null }, now),
    decide: (state) => decideReleaseDestination(state, provider, now),
  });
  return events.length > 0;
};
