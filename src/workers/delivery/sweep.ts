import type { System } from '../../lib/async/async.ts';
import { type DueDelivery, type DuePage, type DueQuery, mailFlowOf } from '../../projections/deliveries/queries.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';
import type { DestinationQueues } from './destination-queues.ts';
import type { Share } from './dispatch.ts';
import {
  batched,
  type DeliveryQueues,
  type Destinations,
  type DueMail,
  dueOf,
  keyOf,
  MESSAGE_CLASSES,
  type MessageClass,
  type RecentlyQueued,
} from './due.ts';
import { createSweepCursors, type FindReleased } from './released.ts';

/**
 * The sweep: queues what is due and not claimed. That is messages whose time has come, retries, attempts whose lease
 * has ended, what a destination had no room for, and whatever a queue that was wiped has lost.
 */

/** The timetable: what is due at or before a time, of each mail flow in turn, longest overdue first. */
export interface Timetable {
  due(ask: DueQuery): Promise<DuePage>;
}

export interface SweepDeliveries {
  readonly timetable: Timetable;
  readonly queues: DeliveryQueues;
  /** Absent: one server takes everything. */
  readonly destinations?: Destinations | undefined;
  /** Mail that nothing holds any more, most of it bulk: all goes into the bulk queue. Absent: it goes on when its time comes. */
  readonly released?: FindReleased | undefined;
  readonly recentlyQueued: RecentlyQueued;
  readonly destinationQueues: Pick<DestinationQueues, 'saturated'>;
  readonly share: Share;
  /** The leader queues all released mail, because some holders release one message at a time. */
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** How late a retry or a scheduled message may be; each sweep of nothing costs two small queries. */
const EVERY_MS = 500;
/** While one sweep does not find everything, so that workers do not run dry. */
const EVERY_MS_BUSY = 100;
/**
 * Mail that is overdue by less is skipped: another process may have just dispatched it, or delivered it if the timetable
 * lags. Shorter: work is done twice. Longer: retries are delayed.
 */
const OVERDUE_MS_MIN = 500;
/** Jobs in the queue above which nothing is swept: what is due is probably among them. */
const LOW_WATER_JOBS = 10;
/** Messages of one organization to one destination: more than its queue takes are refused, fewer leave it idle. */
const FLOW_MESSAGES_MAX = 100;
/** The same with a single server, which may take all of them: about what it does until the next sweep. */
const FLOW_MESSAGES_MAX_OF_ONE = 2_000;
/** Mail flows of one sweep; the next goes on behind them. Each costs two probes of an index. */
const FLOWS_MAX = 1_000;
/** Rows of one sweep. More pile up in the queue, fewer leave workers idle. */
const ROWS_MAX = 3_000;

/** Several destinations of a message are one with a single server, and what was released may be due. */
const distinct = <One extends DueMail>(due: readonly One[]): readonly One[] => [
  ...new Map(due.map((one) => [keyOf(one), one])).values(),
];

interface Swept {
  readonly missing: readonly DueMail[];
  readonly hasMore: boolean;
}

/** Earlier than any time. */
const EARLIEST = '';

type IsNew = (one: DueDelivery) => boolean;

interface SweepResult {
  readonly found: readonly DueDelivery[];
  /** The next search shows other rows. */
  readonly hasMore: boolean;
}

/** A search of each organization at each destination, however many rows of another there are. */
const searchOf = ({ timetable, destinationQueues, destinations }: SweepDeliveries, messageClass: MessageClass) => {
  const limit = destinations === undefined ? FLOW_MESSAGES_MAX_OF_ONE : FLOW_MESSAGES_MAX;
  const cursors = createSweepCursors(mailFlowOf);
  let after = '';
  return async (before: string, isNew: IsNew): Promise<SweepResult> => {
    const without = destinationQueues.saturated(messageClass);
    const from = after;
    const { due: found, next } = await timetable.due({
      bulk: messageClass === 'bulk',
      before,
      after: from,
      flows: FLOWS_MAX,
      limit,
      total: ROWS_MAX,
      without,
      behind: cursors.behind(),
    });
    after = next;
    const skipped = new Set(without);
    const isSkipped = (flow: string): boolean => skipped.has(flow) || skipped.has(flow.slice(flow.indexOf(' ')));
    const hasAdvanced = cursors.advance({
      found,
      limit,
      isCut: false,
      isNew,
      isSearched: (flow) => flow > from && (next === '' || flow <= next) && !isSkipped(flow),
    });
    return { found, hasMore: hasAdvanced || (next !== '' && found.some(isNew)) };
  };
};

export const sweepDeliveries = (deps: SweepDeliveries): Work => {
  const { queues, destinations, released, recentlyQueued, share, leadership, system } = deps;
  const searches = { transactional: searchOf(deps, 'transactional'), bulk: searchOf(deps, 'bulk') };

  const dueIn = ({ messageId, organizationId, destination, environment, dueAt, expiresAt }: DueDelivery, now: string) =>
    dueOf({ messageId, organizationId, environment, domains: [destination] }, destinations).map((due) => ({
      ...due,
      dueAt,
      ...(expiresAt <= now ? { isExpired: true as const } : {}),
    }));

  /** Due deliveries that are not queued yet. */
  const missingIn = (found: readonly DueDelivery[], now: string): readonly DueMail[] =>
    distinct(found.flatMap((one) => dueIn(one, now)))
      .filter(({ dueAt, ...one }) => !recentlyQueued.has(one, dueAt))
      .map(({ dueAt: _, ...one }): DueMail => one);

  /** Held mail was due before it was held, whatever time it was given then. */
  const findReleased = async (now: string): Promise<Swept> => {
    const missingOf = (found: readonly DueDelivery[]): readonly DueMail[] =>
      missingIn(
        found.map((one) => ({ ...one, dueAt: EARLIEST })),
        now,
      );
    const all = (await released?.((one) => missingOf([one]).length > 0)) ?? [];
    const missing = all.flatMap(({ found, most }) => missingOf(found).slice(0, most));
    return { missing, hasMore: missing.length > 0 && all.some(({ isAll }) => !isAll) };
  };

  const findDue = async (messageClass: MessageClass, now: Date): Promise<Swept> => {
    const at = now.toISOString();
    const before = new Date(now.getTime() - OVERDUE_MS_MIN).toISOString();
    const missingOf = (found: readonly DueDelivery[]): readonly DueMail[] =>
      missingIn(
        found.filter(({ messageId }) => share.has(messageId)),
        at,
      );
    const { found, hasMore } = await searches[messageClass](before, (one) => missingOf([one]).length > 0);
    return { missing: missingOf(found), hasMore };
  };

  /** @returns whether there is more. */
  const sweep = async (messageClass: MessageClass): Promise<boolean> => {
    const queue = queues[messageClass];
    if ((await queue.depth()) > LOW_WATER_JOBS) return true;
    const now = system.now();
    const swept = [await findDue(messageClass, now)];
    if (messageClass === 'bulk' && leadership.isLeader()) swept.push(await findReleased(now.toISOString()));
    const missing = distinct(swept.flatMap((each) => each.missing));
    if (missing.length > 0) await queue.add(batched(missing));
    recentlyQueued.add(missing);
    return swept.some(({ hasMore }) => hasMore);
  };

  return repeat(system, async () => {
    if (share.isEmpty()) return EVERY_MS;
    let hasMore = false;
    for (const messageClass of MESSAGE_CLASSES) hasMore = (await sweep(messageClass)) || hasMore;
    return hasMore ? EVERY_MS_BUSY : EVERY_MS;
  });
};
