import { domainOfWarmUp } from '../../domain/warm-up/warm-up.ts';
import type { AskHeld, AskHolders } from '../../projections/deliveries/held-queries.ts';
import type { DueDelivery, DuePage } from '../../projections/deliveries/queries.ts';
import type { SendingHolds } from '../reputation/sending-holds.ts';
import type { WarmUpHolds } from '../warm-ups/warm-up-holds.ts';
import type { DeletedDomains } from './deleted-domains.ts';
import { createSearchPlaces, type SearchPlaces } from './search-places.ts';

/** The timetable, by who keeps mail back. */
export interface HeldMail {
  holders(ask: AskHolders): Promise<readonly string[]>;
  held(ask: AskHeld): Promise<DuePage>;
}

export interface FindReleased {
  readonly heldMail: HeldMail;
  readonly sendingHolds: Pick<SendingHolds, 'standingOf'>;
  readonly warmUpHolds: Pick<WarmUpHolds, 'keeps' | 'offered'>;
  /** What a domain that is gone kept back is found too: it fails when it is tried. */
  readonly deletedDomains: Pick<DeletedDomains, 'isGone'>;
  /** One server takes everything: it has no lines that fill. */
  readonly isOneServer: boolean;
}

/** Whether a row was not offered a moment ago. */
type IsNew = (one: DueDelivery) => boolean;

/** What one domain, organization or warm-up keeps back no more, or not all of it. */
export interface Released {
  readonly found: readonly DueDelivery[];
  /** So many of them may be tried now. */
  readonly most: number;
  readonly isAll: boolean;
}

/** Of one look; the next goes on behind them. Each costs a probe of an index, and a query where it lets mail go. */
const HOLDERS_MAX = 100;
/**
 * What is let go in one look, all together: a quarter of what is taken of mail that is due, so that a million that were
 * kept back delay nobody else's by more than that. Fewer let a large list wait for longer: a million leave in some minutes at best.
 */
const MESSAGES_MAX = 500;
const DESTINATIONS_MAX = 1_000;
/** What the line of a destination takes. */
const OF_DESTINATION_MAX = 100;
/** Of those that are slowed one is offered at a look, and what was offered a moment ago is not: so many are seen. */
const SLOWED_SEEN = 50;

/**
 * Finds mail that was kept back by those who keep it back no more. Nothing is written when somebody is released: who may
 * go on is known here, and their rows are taken bit by bit, so that a release costs the same however much waits.
 */
export const findReleased = ({ heldMail, isOneServer, ...holds }: FindReleased) => {
  const { sendingHolds, warmUpHolds, deletedDomains } = holds;
  let after = '';
  /** Destinations that the last page of each ended with. */
  const pages = new Map<string, string>();
  const placesByHolder = new Map<string, SearchPlaces>();

  const indexesOf = (holder: string): SearchPlaces => {
    const places = placesByHolder.get(holder) ?? createSearchPlaces();
    placesByHolder.set(holder, places);
    return places;
  };

  const isGone = (holder: string): boolean =>
    deletedDomains.isGone(holder) || deletedDomains.isGone(domainOfWarmUp(holder) ?? '');

  const keeps = (holder: string): boolean =>
    !isGone(holder) && (sendingHolds.standingOf(holder).level === 'paused' || warmUpHolds.keeps(holder));

  const holdersToLetGo = async (): Promise<readonly string[]> => {
    const holders = await heldMail.holders({ after, limit: HOLDERS_MAX });
    after = holders[HOLDERS_MAX - 1] ?? '';
    if (pages.size > HOLDERS_MAX) pages.clear(); // of some that have nothing left
    if (placesByHolder.size > HOLDERS_MAX) placesByHolder.clear();
    return holders.filter((holder) => !keeps(holder));
  };

  const turnPage = async (holder: string, total: number, isNew: IsNew): Promise<DuePage> => {
    const after = pages.get(holder) ?? '';
    const limit = isOneServer ? total : OF_DESTINATION_MAX;
    const places = indexesOf(holder);
    const page = await heldMail.held({
      ...{ holder, after, destinations: DESTINATIONS_MAX, total, limit },
      behind: places.behind(),
    });
    places.turn({
      ...{ found: page.due, limit, isCut: page.due.length >= total, isNew },
      isSearched: (destination) => destination > after && (page.next === '' || destination <= page.next),
    });
    if (page.next === '') {
      pages.delete(holder);
      warmUpHolds.offered(holder);
    } else pages.set(holder, page.next);
    return page;
  };

  const letGo = async (holder: string, total: number, isNew: IsNew): Promise<Released> => {
    if (!isGone(holder) && sendingHolds.standingOf(holder).level === 'slowed') {
      return { found: (await turnPage(holder, SLOWED_SEEN, isNew)).due, most: 1, isAll: true };
    }
    const { due, next } = await turnPage(holder, total, isNew);
    return { found: due, most: total, isAll: next === '' };
  };

  return async (isNew: IsNew): Promise<readonly Released[]> => {
    const holders = await holdersToLetGo();
    const total = Math.max(1, Math.floor(MESSAGES_MAX / Math.max(1, holders.length)));
    return Promise.all(holders.map((holder) => letGo(holder, total, isNew)));
  };
};
