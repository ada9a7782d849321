import type { Caller } from '../../domain/api-key/caller.ts';
import {
  BUILT_IN_PLANS,
  type Month,
  monthOf,
  nextMonth,
  type Plan,
  type Plans,
  planOf,
  requirePeriod,
} from '../../domain/billing/plan.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { SERVICE_SENDER } from '../../domain/message/events.ts';
import type { System } from '../../lib/async/async.ts';
import type { SendRequest } from './prepare-message.ts';

/**
 * Enforces the hard limits of plans on sends, from counts in memory. The count is read again every second while an organization
 * sends, and what this process has accepted since is added, so it is exact in one process. A send waits for a count only if
 * the last one is older than two seconds: several processes together may exceed a limit by what the others accept within that time.
 */
export interface SendingQuotas {
  /** Recipients of the month, with those of sends in flight in this process: `reserve` adds to them, `settle` ends them. */
  open(organizationId: string, month: Month): Promise<Usage>;
}

interface Usage {
  used(): number;
  reserve(recipients: number): void;
  settle(reserved: number, accepted: number): void;
}

/** Recipients that the log held at the time of the call or later; null: not known in time. */
export type CountUsed = (organizationId: string, month: Month) => Promise<number | null>;

/** Longer exceeds limits by more, shorter counts the same again and again. */
const READ_EVERY_MS = 1_000;

/** Longer exceeds limits by more. Shorter lets sends of busy organizations wait. */
const COUNT_VALID_MS = 2_000;

interface Entry {
  readonly month: Month;
  counted: number;
  readAtMs: number;
  reading: Promise<void> | null;
  inFlight: number;
  /** Accepted since the last reading began. */
  accepted: number;
  /** Accepted before that, and not in `counted` yet. */
  uncounted: number;
}

const RETRY_AFTER_SECONDS = 2;

export const createSendingQuotas = (count: CountUsed, system: Pick<System, 'monotonicMs'>): SendingQuotas => {
  const entries = new Map<string, Entry>();

  const read = async (organizationId: string, entry: Entry): Promise<void> => {
    const begunMs = system.monotonicMs();
    entry.uncounted += entry.accepted;
    entry.accepted = 0;
    const counted = await count(organizationId, entry.month);
    entry.readAtMs = begunMs;
    if (counted === null) return;
    entry.counted = counted;
    entry.uncounted = 0;
  };

  const refresh = (organizationId: string, entry: Entry): Promise<void> => {
    entry.reading ??= read(organizationId, entry).finally(() => {
      entry.reading = null;
    });
    return entry.reading;
  };

  /** If the count cannot be read, the next send tries again. */
  const keepCurrent = async (organizationId: string, entry: Entry): Promise<void> => {
    const ageMs = system.monotonicMs() - entry.readAtMs;
    if (ageMs < READ_EVERY_MS) return;
    const refreshed = refresh(organizationId, entry).catch(() => undefined);
    if (ageMs >= COUNT_VALID_MS) await refreshed;
  };

  const createEntry = (organizationId: string, month: Month): Entry => {
    const entry: Entry = { month, counted: -1, readAtMs: 0, reading: null, inFlight: 0, accepted: 0, uncounted: 0 };
    entries.set(organizationId, entry);
    return entry;
  };

  return {
    open: async (organizationId, month) => {
      const known = entries.get(organizationId);
      const entry = known?.month === month ? known : createEntry(organizationId, month);
      if (entry.counted < 0) await refresh(organizationId, entry);
      else await keepCurrent(organizationId, entry);
      if (entry.counted < 0) {
        throw new DomainError('unavailable', 'the quota cannot be checked at the moment: try again', {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      }
      return {
        used: () => entry.counted + entry.uncounted + entry.accepted + entry.inFlight,
        reserve: (recipients) => {
          entry.inFlight += recipients;
        },
        settle: (reserved, accepted) => {
          entry.inFlight -= reserved;
          entry.accepted += accepted;
        },
      };
    },
  };
};

const exceeded = ({ id }: Plan, limit: number, used: number, month: Month): DomainError => {
  const resetsAt = `${requirePeriod(nextMonth(month)).start}T00:00:00.000Z`;
  return new DomainError(
    'quota_exceeded',
    `the plan '${id}' allows ${limit} recipients per month, and ${used} are used: choose another plan, or wait until ${resetsAt}`,
    { details: { quota: [`plan ${id}`, `limit ${limit}`, `used ${used}`, `resets at ${resetsAt}`] } },
  );
};

/** Quota reserved for sends in flight. */
export interface QuotaReservation {
  /** Why each is refused, in order; null: it is not. */
  readonly refusals: readonly (DomainError | null)[];
  /** @param accepted recipients that were newly accepted. */
  settle(accepted: number): void;
}

const unlimited = (sends: readonly number[]): QuotaReservation => ({
  refusals: sends.map(() => null),
  settle: () => undefined,
});

interface QuotaContext {
  readonly quotas?: SendingQuotas | undefined;
  readonly plans?: Plans | undefined;
  readonly system: Pick<System, 'now'>;
}

/**
 * Reserves quota of the caller's plan for these sends, in order, and refuses those that exceed its hard limit.
 * @param sends billable recipients of each. @throws {DomainError} `unavailable`.
 */
export const enforceQuota = async (
  { quotas, plans = BUILT_IN_PLANS, system }: QuotaContext,
  { organizationId, environment, keyId, chosenPlans = [] }: Caller,
  sends: readonly number[],
): Promise<QuotaReservation> => {
  if (quotas === undefined || environment === 'test' || keyId === SERVICE_SENDER) return unlimited(sends);
  const now = system.now().toISOString();
  const plan = planOf({ chosenPlans }, plans, now);
  const { hardLimit: limit } = plan;
  if (limit === null) return unlimited(sends);
  const month = monthOf(now);
  const usage = await quotas.open(organizationId, month);
  let reserved = 0;
  const refusals = sends.map((recipients) => {
    const used = usage.used();
    if (recipients === 0) return null;
    if (used + recipients > limit) return exceeded(plan, limit, used, month);
    usage.reserve(recipients);
    reserved += recipients;
    return null;
  });
  return { refusals, settle: (accepted) => usage.settle(reserved, accepted) };
};

/** Recipients of a send that a plan counts. */
export const billableOf = ({ draft }: Pick<SendRequest, 'draft'>): number => draft.recipients.length;

/** Repeats of accepted requests are answered as before, even if the quota is used up by now. */
export const withRefusal = (request: SendRequest, refusal: DomainError | null): SendRequest =>
  refusal === null || request.refusal !== undefined ? request : { ...request, refusal };
