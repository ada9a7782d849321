import type { RateDenominators, SerializedStats } from '../../http/resources/stats.ts';
import { count, percent } from './numbers.ts';

/** Rates of recipients, as the API computes them, with what each is a share of. */

type Totals = SerializedStats['totals'];
export type Rate = keyof RateDenominators;

/** The API's own definitions: the check of types fails if they differ. */
const DENOMINATORS = {
  delivered: 'accepted',
  deferred: 'accepted',
  bounced: 'accepted',
  opened: 'delivered',
  clicked: 'delivered',
  complained: 'delivered',
  unsubscribed: 'delivered',
} as const satisfies RateDenominators;

const isRate = (name: string): name is Rate => Object.hasOwn(DENOMINATORS, name);

export const shareOf = (share: number | null | undefined): string =>
  share === null || share === undefined ? '–' : percent(share);

/** The definition next to a rate: `of accepted`; null: the metric has no rate. */
export const definitionOf = (name: string): string | null => (isRate(name) ? `of ${DENOMINATORS[name]}` : null);

/** Both numbers of a rate: `1,204 of 1,310 accepted`. */
export const partsOf = (totals: Totals, name: Rate): string => {
  const of = DENOMINATORS[name];
  return `${count(totals[name] ?? 0)} of ${count(totals[of] ?? 0)} ${of}`;
};

/** Recipients without an outcome yet. */
export const waitingOf = (counts: Omit<Totals, 'rates' | 'latency_ms'>): number => {
  const { accepted = 0, delivered = 0, bounced = 0, failed = 0, expired = 0, suppressed = 0, cancelled = 0 } = counts;
  return Math.max(0, accepted - delivered - bounced - failed - expired - suppressed - cancelled);
};
