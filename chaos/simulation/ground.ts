import { createFaults, type Fault, type Faults } from './faults.ts';
import type { Fate } from './process.ts';
import { createRandom, type Random } from './random.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { createTrace, type Trace } from './trace.ts';

/** A fault that makes the actions of a process around that time doubtful. */
interface Disturbance {
  /** `EVERYBODY`: any process may be affected. */
  readonly process: string;
  readonly atMs: number;
}

/** Randomness, time and faults: the base of everything in a simulation. */
export interface Ground {
  readonly seed: number;
  readonly random: Random;
  readonly trace: Trace;
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  /** Wall clock at the start. */
  readonly startMs: number;
  latencyMs(): number;
  /** Records that a fault affected a process, so that rules can excuse it. */
  disturbed(process: string, what: string): void;
  disturbances(): readonly Disturbance[];
  /** The response arrives, with some latency. */
  plainFate(): Fate;
  /** Like `plainFate`, but if the fault occurs, the call never arrives and the process gets the error. */
  fateUnless(fault: Fault, error: () => Error): Fate;
}

export const EVERYBODY = '*';
const START = '2026-01-01T00:00:00.000Z';
/** Most responses arrive almost at once; the rest vary the order of arrivals. */
const LATENCIES_MS = [0, 1, 1, 2, 3, 5, 8, 30];
/** Longer than any time-out of a call to a healthy server, shorter than a lease. */
const SLOW_MS_MAX = 3000;

export const createGround = (seed: number, { keepTrace }: { readonly keepTrace: boolean }): Ground => {
  const random = createRandom(seed);
  const trace = createTrace({ keep: keepTrace });
  const scheduler = createScheduler(random, trace);
  const faults = createFaults(random);
  const disturbances: Disturbance[] = [];

  const disturbed = (process: string, what: string): void => {
    trace.note(scheduler.nowMs(), `${process} ${what}`);
    disturbances.push({ process, atMs: scheduler.nowMs() });
  };

  const latencyMs = (): number => {
    if (!faults.strikes('slow answer')) return random.pick(LATENCIES_MS);
    disturbed(EVERYBODY, 'waits');
    return random.between(50, SLOW_MS_MAX);
  };

  const plainFate = (): Fate => ({ arrivesAfterMs: latencyMs(), failure: null });

  return {
    seed,
    random,
    trace,
    scheduler,
    faults,
    latencyMs,
    plainFate,
    disturbed,
    startMs: Date.parse(START),
    disturbances: () => disturbances,
    fateUnless: (fault, error) =>
      faults.strikes(fault) ? { arrivesAfterMs: null, failure: { afterMs: latencyMs(), error: error() } } : plainFate(),
  };
};
