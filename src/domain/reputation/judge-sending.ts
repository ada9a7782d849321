import type { StandingEvent } from '../events.ts';
import { MEASURES, type Measure } from './events.ts';
import { type SendingCounts, type Share, sharesOf } from './sending-counts.ts';
import type { Limits, SendingLimits } from './sending-limits.ts';
import { type Sender, STANDING_LEVELS, type Standing } from './standing.ts';

export interface JudgeSending extends Sender {
  readonly counts: SendingCounts;
  readonly limits: SendingLimits;
}

/** Of fewer recipients each is too large a part to say anything; more let a small sender do harm unseen. */
const RECIPIENTS_MIN = 200;
/** Fewer bounces or complaints happen to anybody; at more, a small sender is stopped late. */
const HAPPENINGS_MIN = 5;
/** What was reached lasts until the rate is below this part of the limit: nearer to it, a rate at the limit flaps. */
const RECOVERY = 0.8;

/** How many of the limits hold: those that are reached, and those that were and are not left far enough behind. */
const levelOf = ({ count, of, percent }: Share, limits: Limits | null, before: number): number => {
  if (limits === null) return 0;
  const counts = of >= RECIPIENTS_MIN && count >= HAPPENINGS_MIN;
  const reached = counts ? limits.filter((limit) => percent >= limit).length : 0;
  const kept = limits.filter((limit) => percent >= limit * RECOVERY).length;
  return Math.max(reached, Math.min(before, kept));
};

const REACHED = { 1: 'SendingWarned', 2: 'SendingSlowed', 3: 'SendingPaused' } as const;
type Level = keyof typeof REACHED;

/** The measure that goes furthest, and how far; of two that go as far, the one that it stands so for. */
const worstOf = (
  state: Standing,
  shares: Readonly<Record<Measure, Share>>,
  limits: SendingLimits,
): { readonly measure: Measure; readonly level: number } => {
  const before = STANDING_LEVELS.indexOf(state.level);
  const levels = MEASURES.map((measure) => ({
    measure,
    level: levelOf(shares[measure], limits[measure], state.measure === measure ? before : 0),
  }));
  const highest = Math.max(...levels.map(({ level }) => level));
  const worst = levels.filter(({ level }) => level === highest);
  return worst.find(({ measure }) => measure === state.measure) ?? worst[0] ?? { measure: 'bounces', level: 0 };
};

const recovered = ({ domainId, organizationId }: Sender): StandingEvent =>
  domainId === null
    ? { type: 'OrganizationSendingRecovered', data: { organizationId } }
    : { type: 'SendingRecovered', data: { domainId } };

type Found = Omit<Extract<StandingEvent, { readonly type: 'SendingPaused' }>['data'], 'domainId'>;

const reached = ({ domainId, organizationId }: Sender, level: Level, found: Found): StandingEvent =>
  domainId === null
    ? { type: `Organization${REACHED[level]}`, data: { organizationId, ...found } }
    : { type: REACHED[level], data: { domainId, ...found } };

/** What follows from the rates of a domain or an organization; nothing where it stands so already. */
export const judgeSending = (
  state: Standing,
  { counts, limits, ...sender }: JudgeSending,
): readonly StandingEvent[] => {
  // Counted before what was released was forgotten.
  if (counts.releasedAt !== state.releasedAt) return [];
  const shares = sharesOf(counts);
  const { measure, level } = worstOf(state, shares, limits);
  if (level === 0) return state.level === 'good' ? [] : [recovered(sender)];
  if (STANDING_LEVELS[level] === state.level && measure === state.measure) return [];
  const { count, of } = shares[measure];
  const limitPercent = limits[measure]?.[level - 1] ?? 0;
  return [reached(sender, level as Level, { measure, count, of, limitPercent })];
};
