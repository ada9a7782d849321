import { LRUCache } from 'lru-cache';
import { isPaused } from '../../domain/reputation/reputation.ts';
import { domainOfWarmUp } from '../../domain/warm-up/warm-up.ts';
import type {
  DueDelivery,
  DuePage,
  DuePlace,
  DuePlaces,
  HeldQuery,
  HoldersQuery,
} from '../../projections/deliveries/queries.ts';
import type { SendingDomains } from '../domains/sending-domains.ts';
import type { SendingHolds } from '../reputation.ts';
import type { WarmUpHolds } from '../warm-ups.ts';
import type { SuspensionHolds } from './suspensions.ts';

/**
 * Cursors of a search of the timetable, one for each mail flow or destination: behind rows that were offered already and
 * are still there. A read model that stands still keeps rows of mail delivered long ago, which must not hide the rows
 * behind them.
 */
interface SweepCursors {
  /** For the query. */
  behind(): DuePlaces;
  /** Moves the cursors behind a page. @returns whether the next page shows other rows of one of its keys. */
  advance(page: SweptPage): boolean;
}

interface SweptPage {
  /** Ordered by key, and within each by due time. */
  readonly found: readonly DueDelivery[];
  /** Rows of each key. */
  readonly limit: number;
  /** The last key may have more rows than were found, although fewer than `limit`. */
  readonly isCut: boolean;
  /** Whether rows of this key would have been found. */
  isSearched(key: string): boolean;
  /** Whether a row is queued now: it was not queued a moment ago, and is not known to be stale. */
  isNew(one: DueDelivery): boolean;
}

/** Keys with more stale rows than a page; 100 bytes of a query each. Others are searched from their first row. */
const CURSORS_MAX = 2_000;

/** @param keyOf the mail flow or destination of a row. */
export const createSweepCursors = (keyOf: (row: DueDelivery) => string): SweepCursors => {
  const cursors = new LRUCache<string, DuePlace>({ max: CURSORS_MAX });

  /** Nothing is left behind the cursors of these keys: they are searched from their first row again. */
  const reset = (groups: ReadonlyMap<string, unknown>, isSearched: SweptPage['isSearched']): void => {
    for (const key of [...cursors.keys()]) {
      if (!groups.has(key) && isSearched(key)) cursors.delete(key);
    }
  };

  /** @returns whether the next page shows other rows. */
  const advanceOne = (key: string, rows: readonly DueDelivery[], hasMore: boolean, hasNew: boolean): boolean => {
    const last = rows.at(-1);
    if (last === undefined || !hasMore) {
      cursors.delete(key);
      return false;
    }
    if (hasNew) return false;
    cursors.set(key, { dueAt: last.dueAt, messageId: last.messageId });
    return true;
  };

  return {
    behind: () => new Map(cursors.entries()),
    advance: ({ found, limit, isCut, isSearched, isNew }) => {
      const groups = Map.groupBy(found, keyOf);
      reset(groups, isSearched);
      const advanced = [...groups].filter(([key, rows]) => {
        const hasMore = rows.length >= limit || (isCut && rows.at(-1) === found.at(-1));
        return advanceOne(key, rows, hasMore, rows.some(isNew));
      });
      return advanced.length > 0;
    },
  };
};

/**
 * Finds mail whose holder (a domain, organization or warm-up, or a suspension) holds it no more. Nothing is written when a holder releases
 * its mail: who holds is known here, and the rows are taken bit by bit, so that a release costs the same however much waits.
 */

/** The timetable by holder. */
export interface HeldMail {
  holders(ask: HoldersQuery): Promise<readonly string[]>;
  held(ask: HeldQuery): Promise<DuePage>;
}

interface FindReleasedParts {
  readonly heldMail: HeldMail;
  readonly sendingHolds: Pick<SendingHolds, 'reputationOf'>;
  readonly suspensionHolds: Pick<SuspensionHolds, 'keeps'>;
  readonly warmUpHolds: Pick<WarmUpHolds, 'keeps' | 'offered'>;
  /** Mail held by a deleted domain is found too: it fails when it is tried. */
  readonly sendingDomains: Pick<SendingDomains, 'isDeleted'>;
  /** One server takes everything: no destination queue fills up. */
  readonly isOneServer: boolean;
}

/** Whether a row was not queued a moment ago. */
type IsNew = (one: DueDelivery) => boolean;

/** Mail that one holder releases, all or part of it. */
interface ReleasedMail {
  readonly found: readonly DueDelivery[];
  /** How many of them may be tried now. */
  readonly most: number;
  readonly isAll: boolean;
}

export type FindReleased = (isNew: IsNew) => Promise<readonly ReleasedMail[]>;

/** Holders of one look; the next goes on behind them. Each costs a probe of an index, and a query if it releases mail. */
const HOLDERS_MAX = 100;
/**
 * Messages per query, for all holders together: a quarter of a sweep of due mail, which bounds how much a million released
 * messages delay other mail. Lower: a large list waits longer; a million need some minutes at best.
 */
const MESSAGES_MAX = 500;
const DESTINATIONS_MAX = 1_000;
/** Messages of one destination: what its queue takes. */
const OF_DESTINATION_MAX = 100;
/** Rows read for a slowed holder, of which one is queued: those queued a moment ago are skipped. */
const SLOWED_SEEN = 50;

export const createFindReleased = (parts: FindReleasedParts): FindReleased => {
  const { heldMail, isOneServer, sendingHolds, suspensionHolds, warmUpHolds, sendingDomains } = parts;
  let after = '';
  /** Destination that each holder's last page ended with. */
  const pages = new Map<string, string>();
  const cursorsByHolder = new Map<string, SweepCursors>();

  const cursorsOf = (holder: string): SweepCursors => {
    const cursors = cursorsByHolder.get(holder) ?? createSweepCursors(({ destination }) => destination);
    cursorsByHolder.set(holder, cursors);
    return cursors;
  };

  const isDeleted = (holder: string): boolean =>
    sendingDomains.isDeleted(holder) || sendingDomains.isDeleted(domainOfWarmUp(holder) ?? '');

  const holds = (holder: string): boolean =>
    suspensionHolds.keeps(holder) ||
    (!isDeleted(holder) && (isPaused(sendingHolds.reputationOf(holder)) || warmUpHolds.keeps(holder)));

  const releasingHolders = async (): Promise<readonly string[]> => {
    const holders = await heldMail.holders({ after, limit: HOLDERS_MAX });
    after = holders[HOLDERS_MAX - 1] ?? '';
    if (pages.size > HOLDERS_MAX) pages.clear(); // some have nothing left
    if (cursorsByHolder.size > HOLDERS_MAX) cursorsByHolder.clear();
    return holders.filter((holder) => !holds(holder));
  };

  const nextPage = async (holder: string, total: number, isNew: IsNew): Promise<DuePage> => {
    const after = pages.get(holder) ?? '';
    const limit = isOneServer ? total : OF_DESTINATION_MAX;
    const cursors = cursorsOf(holder);
    const page = await heldMail.held({
      holder,
      after,
      destinations: DESTINATIONS_MAX,
      total,
      limit,
      behind: cursors.behind(),
    });
    cursors.advance({
      found: page.due,
      limit,
      isCut: page.due.length >= total,
      isNew,
      isSearched: (destination) => destination > after && (page.next === '' || destination <= page.next),
    });
    if (page.next === '') {
      pages.delete(holder);
      warmUpHolds.offered(holder);
    } else pages.set(holder, page.next);
    return page;
  };

  const release = async (holder: string, total: number, isNew: IsNew): Promise<ReleasedMail> => {
    if (!isDeleted(holder) && sendingHolds.reputationOf(holder).level === 'slowed') {
      return { found: (await nextPage(holder, SLOWED_SEEN, isNew)).due, most: 1, isAll: true };
    }
    const { due, next } = await nextPage(holder, total, isNew);
    return { found: due, most: total, isAll: next === '' };
  };

  return async (isNew) => {
    const holders = await releasingHolders();
    const total = Math.max(1, Math.floor(MESSAGES_MAX / Math.max(1, holders.length)));
    return Promise.all(holders.map((holder) => release(holder, total, isNew)));
  };
};
