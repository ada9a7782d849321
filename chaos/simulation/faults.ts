import type { Random } from './random.ts';

/** What can go wrong with one call of a process. */
export const FAULTS = [
  'append refused',
  'append lost',
  'append unanswered',
  'append late',
  'read fails',
  'wake-up late',
  'contents fail',
  'timetable fails',
  'queue refuses',
  'queue loses',
  'queue repeats',
  'queue delays',
  'smtp refuses',
  'smtp defers',
  'smtp hangs',
  'smtp cut',
  'smtp cut after the dot',
  'webhook fails',
  'webhook unanswered',
  'webhook store fails',
  'projection falls back',
  'slow answer',
  'crash',
  'freeze',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface Faults {
  /** Whether it goes wrong this time. */
  strikes(fault: Fault): boolean;
  /** From now on nothing goes wrong. */
  end(): void;
  haveEnded(): boolean;
}

/** Of calls: rare ones find what needs a single fault, frequent ones what needs several together. */
const RATES = [0.01, 0.04, 0.15];
/** A process makes hundreds of calls: more often and it never gets anything done. */
const PERIL_RATES = [0.001, 0.004, 0.015];
const PERILS: readonly Fault[] = ['crash', 'freeze'];
/** Each run has some faults and not others: all together would hide what one alone lets happen. */
const SHARE = 0.35;

export const createFaults = (random: Random): Faults => {
  const rates = new Map<Fault, number>();
  for (const fault of FAULTS) {
    const rate = random.pick(PERILS.includes(fault) ? PERIL_RATES : RATES);
    if (random.chance(SHARE)) rates.set(fault, rate);
  }
  let ended = false;
  return {
    strikes: (fault) => !ended && random.chance(rates.get(fault) ?? 0),
    end: () => {
      ended = true;
    },
    haveEnded: () => ended,
  };
};
