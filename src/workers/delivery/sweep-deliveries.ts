import type { System } from '../../domain/ports/system.ts';
import type {
  AskDue,
  AskDueByDestination,
  DueDelivery,
  DuePage,
  DuePlace,
} from '../../projections/deliveries/queries.ts';
import type { Duty } from '../duty.ts';
import { repeat, type Work } from '../supervise.ts';
import { batched, type DeliveryQueues, type Due, keyOf, STREAMS, type Stream } from './delivery-job.ts';
import type { Departures } from './departures.ts';
import { type Destinations, dueOf } from './destinations.ts';
import type { findReleased } from './find-released.ts';
import type { RecentlyAdded } from './recently-added.ts';
import { createSearchPlaces } from './search-places.ts';

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

type IsNew = (one: DueDelivery) => boolean;

interface Found {
  readonly found: readonly DueDelivery[];
  /** The next search shows other rows. */
  readonly hasMore: boolean;
}

/** One server takes everything: a page of all that is due, and the next behind it once all of it was offered. */
const searchOfAll = ({ timetable }: SweepDeliveries, bulk: boolean) => {
  let behind: DuePlace | undefined;
  return async (before: string, isNew: IsNew): Promise<Found> => {
    const found = await timetable.due({ bulk, before, limit: SWEEP_MESSAGES_MAX, behind });
    const isLast = found.length < SWEEP_MESSAGES_MAX;
    if (isLast) behind = undefined;
    else if (!found.some(isNew)) behind = found.at(-1);
    return { found, hasMore: !isLast };
  };
};

/** The same for each destination, however many rows of another there are. */
const searchByDestination = ({ timetable, departures }: SweepDeliveries, stream: Stream) => {
  const places = createSearchPlaces();
  let after = '';
  return async (before: string, isNew: IsNew): Promise<Found> => {
    const without = departures.sated(stream);
    const from = after;
    const { due: found, next } = await timetable.dueByDestination({
      ...{ bulk: stream === 'bulk', before, limit: DESTINATION_MESSAGES_MAX },
      ...{ after: from, destinations: DESTINATIONS_MAX, without, behind: places.behind() },
    });
    after = next;
    const passedOver = new Set(without);
    const isTurned = places.turn({
      ...{ found, limit: DESTINATION_MESSAGES_MAX, isCut: false, isNew },
      isSearched: (destination) =>
        destination > from && (next === '' || destination <= next) && !passedOver.has(destination),
    });
    return { found, hasMore: isTurned || (next !== '' && found.some(isNew)) };
  };
};

/**
 * Puts what is due and in nobody's hands into the queue: messages whose time has come, retries, attempts whose lease
 * has ended, what a destination had no room for, and whatever a queue that was wiped has lost.
 */
export const sweepDeliveries = (deps: SweepDeliveries): Work => {
  const { queues, destinations, released, recentlyAdded, duty, system } = deps;
  const searchOf = (stream: Stream) =>
    destinations === undefined ? searchOfAll(deps, stream === 'bulk') : searchByDestination(deps, stream);
  const searches = { transactional: searchOf('transactional'), bulk: searchOf('bulk') };

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
    const missingOf = (found: readonly DueDelivery[]): readonly Due[] =>
      missingIn(
        found.map((one) => ({ ...one, dueAt: ALWAYS })),
        now,
      );
    const all = (await released?.((one) => missingOf([one]).length > 0)) ?? [];
    const missing = all.flatMap(({ found, most }) => missingOf(found).slice(0, most));
    return { missing, hasMore: missing.length > 0 && all.some(({ isAll }) => !isAll) };
  };

  const dueNow = async (stream: Stream, now: Date): Promise<Swept> => {
    const at = now.toISOString();
    const before = new Date(now.getTime() - AGE_MS_MIN).toISOString();
    const { found, hasMore } = await searches[stream](before, (one) => missingIn([one], at).length > 0);
    return { missing: missingIn(found, at), hasMore };
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
