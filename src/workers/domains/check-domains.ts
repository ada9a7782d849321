import { destroyFormerKeys } from '../../commands/sending-domain/change-domain.ts';
import { type EventStore, idOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { SendingDomainEvent } from '../../domain/kernel/events.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { nextCheckMs } from '../../domain/sending-domain/domain-records.ts';
import {
  type DomainWithFormerKeys,
  type ExistingSendingDomain,
  formerKeys,
  sendingDomain,
  unneededKeys,
} from '../../domain/sending-domain/sending-domain.ts';
import { createFairQueue, mapConcurrently, pause, type System } from '../../lib/async/async.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';

/** Destroys the private halves of DKIM keys that were replaced, once no mail can still be signed by them. */

/** In-memory projection of domains with keys that they had. */
interface FormerKeys {
  /** Applies an event of a sending domain. */
  apply(event: RecordedEvent): void;
  /** Ids of domains with unused keys. @param now ISO 8601. */
  due(now: string): readonly string[];
}

export const createFormerKeys = (): FormerKeys => {
  const domains = new Map<string, DomainWithFormerKeys>();

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = domains.get(id) ?? formerKeys.initial;
      // A stream of the category holds events of its family only.
      const after = formerKeys.evolve(before, event as RecordedEvent<SendingDomainEvent>, event.metadata);
      if (after.domain.status === 'registered' || after.former.length > 0) domains.set(id, after);
      else domains.delete(id);
    },
    due: (now) => [...domains].filter(([, state]) => unneededKeys(state, now).length > 0).map(([id]) => id),
  };
};

interface DestroyKeys {
  readonly store: EventStore;
  readonly secrets: Secrets;
  readonly formerKeys: Pick<FormerKeys, 'due'>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** How late it may be. Each look goes through all domains in memory. */
const DESTROY_EVERY_MS = 5_000;
/** Domains of one look, so that a stop does not wait: the rest is due in the next. */
const DOMAINS_MAX = 100;

export const destroyKeys = ({ formerKeys, leadership, ...context }: DestroyKeys): Work =>
  repeat(context.system, async () => {
    if (!leadership.isLeader()) return DESTROY_EVERY_MS;
    const due = formerKeys.due(context.system.now().toISOString()).slice(0, DOMAINS_MAX);
    for (const domainId of due) await destroyFormerKeys(context, domainId);
    return DESTROY_EVERY_MS;
  });

/** Checks the DNS records of domains: often while they wait for their records, then every few hours. */

/**
 * In-memory projection of when each domain's next check is due. Due times follow from the domains alone, so checks are kept
 * in memory only: recording each would fill the log, which every API process reads at its start.
 */
interface CheckSchedule {
  /** Applies an event of a sending domain. */
  apply(event: RecordedEvent): void;
  /** Ids of domains that are due: organizations in turn, longest due first. @param sinceMs what was due before was checked. */
  due(sinceMs: number, nowMs: number): readonly string[];
  /** It is checked now. */
  checked(domainId: string, nowMs: number): void;
  /** It could not be checked: it is due again then. */
  postpone(domainId: string, untilMs: number): void;
}

interface Entry {
  readonly domain: ExistingSendingDomain;
  /** null: not by this process. */
  readonly checkedMs: number | null;
  /** undefined: to be computed. null: never. */
  nextMs: number | null | undefined;
}

/** An organization with many domains, or slow name servers, does not delay the checks of others. */
const interleave = <Domain extends Pick<ExistingSendingDomain, 'organizationId'>>(
  domains: readonly Domain[],
): readonly Domain[] => {
  const queue = createFairQueue<Domain>();
  for (const domain of domains) queue.push(domain.organizationId, domain);
  return domains.flatMap(() => queue.shift() ?? []);
};

export const createCheckSchedule = (): CheckSchedule => {
  const entries = new Map<string, Entry>();

  const nextOf = (entry: Entry, sinceMs: number): number | null => {
    if (entry.nextMs === undefined) {
      entry.nextMs = nextCheckMs(entry.domain, Math.max(entry.checkedMs ?? sinceMs, sinceMs));
    }
    return entry.nextMs;
  };

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = entries.get(id);
      // A stream of the category holds events of its family only.
      const own = event as RecordedEvent<SendingDomainEvent>;
      const domain = sendingDomain.evolve(before?.domain ?? sendingDomain.initial, own, event.metadata);
      if (domain.status !== 'registered') entries.delete(id);
      else entries.set(id, { domain, checkedMs: before?.checkedMs ?? null, nextMs: undefined });
    },
    due: (sinceMs, nowMs) => {
      const due = [...entries].flatMap(([id, entry]) => {
        const nextMs = nextOf(entry, sinceMs);
        return nextMs !== null && nextMs <= nowMs ? [{ id, nextMs, organizationId: entry.domain.organizationId }] : [];
      });
      return interleave(due.sort((a, b) => a.nextMs - b.nextMs)).map(({ id }) => id);
    },
    checked: (domainId, nowMs) => {
      const entry = entries.get(domainId);
      if (entry !== undefined) entries.set(domainId, { ...entry, checkedMs: nowMs, nextMs: undefined });
    },
    postpone: (domainId, untilMs) => {
      const entry = entries.get(domainId);
      if (entry !== undefined) entry.nextMs = untilMs;
    },
  };
};

interface CheckDomains {
  /** Checks one domain's DNS records and saves the result. Absent: mail is captured, so domains are not checked. */
  readonly checkDomain?: (domainId: string) => Promise<void>;
  readonly checkSchedule: CheckSchedule;
  /** Resolves when the schedule has caught up with the log. */
  readonly caughtUp: Promise<void>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** How late a check may be. Each look at the schedule goes through all domains in memory. */
const EVERY_MS = 5_000;
/** Checks at once: a few hundred DNS questions. More flood the resolver, fewer take longer after a start. */
const CONCURRENCY = 8;
/** Checks of one round, so that a stop does not wait: the rest is due in the next. */
const ROUND_MAX = 64;
/** Checks that were due this long before the process became leader are made up for; longer checks more at each start. */
const MADE_UP_FOR_MS = 3_600_000;
/** A check that failed is repeated after this: shorter goes on at what is down, longer is felt. */
const POSTPONED_MS = 60_000;

/** @returns faults, which keep no other domain from its check. */
const checkAll = async (
  { checkDomain, checkSchedule, system }: CheckDomains,
  domainIds: readonly string[],
  signal: AbortSignal,
): Promise<readonly unknown[]> => {
  const faults: unknown[] = [];
  await mapConcurrently(domainIds, { system, concurrency: CONCURRENCY }, async (domainId) => {
    if (signal.aborted) return;
    const nowMs = system.now().getTime();
    checkSchedule.checked(domainId, nowMs);
    try {
      await checkDomain?.(domainId);
    } catch (error) {
      checkSchedule.postpone(domainId, nowMs + POSTPONED_MS);
      faults.push(error);
    }
  });
  return faults;
};

export const checkDomains = (deps: CheckDomains): Work => {
  const { checkDomain, checkSchedule, caughtUp, leadership, system } = deps;
  let isCaughtUp = false;
  let sinceMs: number | null = null;
  caughtUp.then(
    () => {
      isCaughtUp = true;
    },
    () => undefined,
  );

  const round = async (signal: AbortSignal): Promise<void> => {
    const nowMs = system.now().getTime();
    if (!leadership.isLeader()) {
      sinceMs = nowMs;
      return;
    }
    sinceMs ??= nowMs - MADE_UP_FOR_MS;
    const due = checkSchedule.due(sinceMs, nowMs).slice(0, ROUND_MAX);
    const [fault] = await checkAll(deps, due, signal);
    if (fault !== undefined) throw fault;
  };

  return async (signal, working) => {
    while (!signal.aborted) {
      if (checkDomain !== undefined && isCaughtUp) await round(signal);
      working();
      await pause(system, EVERY_MS, signal);
    }
  };
};
