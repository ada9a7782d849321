import type { System } from '../../domain/system.ts';
import type { AskDue, AskDueByDestination, DueDelivery, DuePage } from '../../projections/deliveries/queries.ts';
import type { Duty } from '../duty.ts';
import { repeat, type Work } from '../keep-running.ts';
import { batched, type DeliveryQueues, type Due, keyOf, STREAMS, type Stream } from './delivery-job.ts';
import type { Departures } from './departures.ts';
import { type Destinations, dueOf } from './destinations.ts';
import type { findReleased } from './find-released.ts';
import type { RecentlyAdded } from './recently-added.ts';

/** The timetable: what is due at or before a time, longest overdue first; of all destinations, or of each in turn. */
export interface Timetable {
  due(ask: AskDue): Promise<readonly DueDelivery[]>;
  dueByDestination(ask: AskDueByDestination): Promise<DuePage>;
}

export interface SweepDeliveries {
  readonly timetable: Timetable;
  readonly queues: DeliveryQueues;
  /** Absent: one server takes everything. */
  readonly destinations?: Destinations | undefined;
  /** Bulk mail that nothing keeps back any more. Absent: it goes on when its time comes. */
  readonly released?: ReturnType<typeof findReleased> | undefined;
  readonly recentlyAdded: RecentlyAdded;
  readonly departures: Pick<Departures, 'sated'>;
  readonly duty: Pick<Duty, 'isOn'>;
  readonly system: System;
}

/** How late a retry or a scheduled message may be; each sweep of nothing costs two small queries. */
const EVERY_MS = 500;
/** While there is more to be done than fits one sweep, so that workers do not run dry. */
const EVERY_MS_BUSY = 100;
/**
 * Overdue by less is left alone: another process may have just dispatched it, or done it already where the timetable
 * has not caught up. Shorter does such things twice, longer delays retries.
 */
const AGE_MS_MIN = 500;
/** Jobs in the queue above which nothing is swept: what is due is probably among them. */
const LOW_WATER_JOBS = 10;
/** Messages of one sweep: about what workers do until the next. More pile up in the queue, fewer leave workers idle. */
const SWEEP_MESSAGES_MAX = 2000;
/** Of one destination: what its line takes. */
const DESTINATION_MESSAGES_MAX = 100;
/** Destinations of one sweep; the next goes on behind them. Each costs two probes of an index. */
const DESTINATIONS_MAX = 1000;

/** Several destinations of a message are one where one server takes everything, and what was released may be due. */
const distinct = <One extends Due>(due: readonly One[]): readonly One[] => [
  ...new Map(due.map((one) => [keyOf(one), one])).values(),
];

interface Swept {
  readonly missing: readonly Due[];
  readonly hasMore: boolean;
}

/** Earlier than any time. */
const ALWAYS = '';

/** What may be found at once, and whether there is more. */
const createSearch = ({ timetable, destinations, departures }: SweepDeliveries, stream: Stream) => {
  const bulk = stream === 'bulk';
  let after = '';
  return async (before: string): Promise<{ readonly found: readonly DueDelivery[]; readonly isAll: boolean }> => {
    if (destinations === undefined) {
      const found = await timetable.due({ bulk, before, limit: SWEEP_MESSAGES_MAX });
      return { found, isAll: found.length < SWEEP_MESSAGES_MAX };
    }
    const page = { after, destinations: DESTINATIONS_MAX, without: departures.sated(stream) };
    const { due, next } = await timetable.dueByDestination({ bulk, before, limit: DESTINATION_MESSAGES_MAX, ...page });
    after = next;
    return { found: due, isAll: next === '' };
  };
};

/**
 * Puts what is due and in nobody's hands into the queue: messages whose time has come, retries, attempts whose lease
 * has ended, what a destination had no room for, and whatever a queue that was wiped has lost.
 */
export const sweepDeliveries = (deps: SweepDeliveries): Work => {
  const { queues, destinations, released, recentlyAdded, duty, system } = deps;
  const searches = { transactional: createSearch(deps, 'transactional'), bulk: createSearch(deps, 'bulk') };

  const dueIn = ({ messageId, destination, environment, dueAt, expiresAt }: DueDelivery, now: string) =>
    dueOf({ messageId, environment, domains: [destination] }, destinations).map((due) => ({
      ...{ ...due, dueAt },
      ...(expiresAt <= now ? { isExpired: true as const } : {}),
    }));

  /** What is not in the queue already. */
  const missingIn = (found: readonly DueDelivery[], now: string): readonly Due[] =>
    distinct(found.flatMap((one) => dueIn(one, now)))
      .filter(({ dueAt, ...one }) => !recentlyAdded.has(one, dueAt))
      .map(({ dueAt: _, ...one }): Due => one);

  /** It was due before it was kept back, whatever time it was given then. */
  const releasedBy = async (now: string): Promise<Swept> => {
    const all = (await released?.()) ?? [];
    const missing = all.flatMap(({ found, most }) =>
      missingIn(
        found.map((one) => ({ ...one, dueAt: ALWAYS })),
        now,
      ).slice(0, most),
    );
    return { missing, hasMore: missing.length > 0 && all.some(({ isAll }) => !isAll) };
  };

  const dueNow = async (stream: Stream, now: Date): Promise<Swept> => {
    const { found, isAll } = await searches[stream](new Date(now.getTime() - AGE_MS_MIN).toISOString());
    const missing = missingIn(found, now.toISOString());
    return { missing, hasMore: !isAll && missing.length > 0 };
  };

  /** @returns whether there is more. */
  const sweep = async (stream: Stream): Promise<boolean> => {
    const queue = queues[stream];
    if ((await queue.depth()) > LOW_WATER_JOBS) return true;
    const now = system.now();
    const swept = [await dueNow(stream, now), ...(stream === 'bulk' ? [await releasedBy(now.toISOString())] : [])];
    const missing = distinct(swept.flatMap((each) => each.missing));
    if (missing.length > 0) await queue.add(batched(missing));
    recentlyAdded.add(missing);
    return swept.some(({ hasMore }) => hasMore);
  };

  return repeat(system, async () => {
    if (!duty.isOn()) return EVERY_MS;
    let hasMore = false;
    for (const stream of STREAMS) hasMore = (await sweep(stream)) || hasMore;
    return hasMore ? EVERY_MS_BUSY : EVERY_MS;
  });
};
