import type { WarmUpEvent } from '../events.ts';
import { plannedDay, type WarmUp } from './warm-up.ts';

/** Providers take a month or two to know a sender; a longer plan holds back mail of one that is known. */
export const PLAN_DAYS_MAX = 90;
/** A destination that takes so many a day from a sender knows him; a larger cap would hold nothing back. */
export const CAP_MAX = 10_000_000;

/**
 * Doubles from day to day, as SendGrid's automated warm-up does, up to what large senders reach in a fortnight: steeper
 * looks like a stolen account to receivers, flatter holds mail back for weeks.
 */
export const DEFAULT_PLAN: readonly number[] = [
  ...[50, 100, 200, 400, 800, 1_600, 3_200],
  ...[6_400, 12_800, 25_600, 51_200, 102_400],
];

export interface StartWarmUp {
  readonly domainId: string;
  readonly caps: readonly number[];
  /** `YYYY-MM-DD`, UTC. */
  readonly today: string;
}

/** Begins a plan today, in place of another; one that runs already goes on as it is. */
export const startWarmUp = ({ plan }: WarmUp, { domainId, caps, today }: StartWarmUp): readonly WarmUpEvent[] => {
  const runs = plan !== null && plannedDay(plan, today) !== null && plan.caps.join() === caps.join();
  return runs ? [] : [{ type: 'WarmUpStarted', data: { domainId, startsOn: today, plan: [...caps] } }];
};
