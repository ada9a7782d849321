import type { Random } from './random.ts';

/** Faults of a single call by a process. */
const FAULTS = [
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
  /** True if the fault occurs this time. */
  strikes(fault: Fault): boolean;
  /** Ends all faults. */
  end(): void;
  haveEnded(): boolean;
}

/** Fault rates per call. Low rates find bugs that need one fault, high rates those that need several together. */
const RATES = [0.01, 0.04, 0.15];
/**
 * Rates at which a process dies or freezes during a call. It makes hundreds of calls, so at higher rates it would never
 * finish anything.
 */
const PERIL_RATES = [0.001, 0.004, 0.015];
const PERILS: readonly Fault[] = ['crash', 'freeze'];
/** Share of faults that are active in a run. If all were active, some would hide the effects of others. */
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
