import { Histogram, type Registry } from 'prom-client';
import type { LoopWork } from '../http/dependencies.ts';
import type { Logger, System } from '../lib/async/async.ts';

/** In milliseconds. */
interface LoopDelays {
  readonly mean: number;
  readonly max: number;
}

export interface EventLoopWatch {
  /** Call when a request's work begins or continues. */
  touch(work: LoopWork): void;
  /** Delays of the last minute. */
  recent(): LoopDelays;
  stop(): void;
}

export interface EventLoopWatchOptions {
  readonly system: Pick<System, 'monotonicMs'>;
  readonly logger: Logger;
  /** Absent: no metric. */
  readonly registry?: Registry | undefined;
}

/** Shorter costs wake-ups; longer underestimates delays, by half an interval on average. */
const INTERVAL_MS = 20;
/** Five times the longest a request should take. Lower: noise from garbage collection. */
const HELD_MS = 250;
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Stages kept per interval; more do not begin in so short a time. */
const STAGES_MAX = 1_000;
/** Kept for `recent`, one for each second. */
const SECONDS_KEPT = 60;
const MICROSECONDS_PER_MS = 1000;
const MS_PER_SECOND = 1000;

interface Stage {
  readonly work: LoopWork;
  readonly atMs: number;
}

/** The stage after which no other began for longest. */
const longestOf = (stages: readonly Stage[], endMs: number): LoopWork | undefined => {
  let longest: LoopWork | undefined;
  let longestMs = 0;
  for (const [index, { work, atMs }] of stages.entries()) {
    const tookMs = (stages[index + 1]?.atMs ?? endMs) - atMs;
    if (tookMs > longestMs) [longest, longestMs] = [work, tookMs];
  }
  return longestMs >= HELD_MS / 2 ? longest : undefined;
};

interface SecondOfDelays {
  readonly second: number;
  readonly sum: number;
  readonly count: number;
  readonly max: number;
}

/** Delays of the last minute, added up by second. */
const createRecentDelays = () => {
  const kept: SecondOfDelays[] = [];
  const secondOf = (ms: number): number => Math.floor(ms / MS_PER_SECOND);
  return {
    note: (delayMs: number, nowMs: number): void => {
      const second = secondOf(nowMs);
      const at = second % SECONDS_KEPT;
      const before = kept[at]?.second === second ? kept[at] : { sum: 0, count: 0, max: 0 };
      kept[at] = {
        second,
        sum: before.sum + delayMs,
        count: before.count + 1,
        max: Math.max(before.max, delayMs),
      };
    },
    recent: (nowMs: number): LoopDelays => {
      const seconds = kept.filter(({ second }) => second > secondOf(nowMs) - SECONDS_KEPT);
      const count = seconds.reduce((sum, one) => sum + one.count, 0);
      const total = seconds.reduce((sum, one) => sum + one.sum, 0);
      return { mean: count === 0 ? 0 : total / count, max: Math.max(0, ...seconds.map(({ max }) => max)) };
    },
  };
};

const threadCpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / MICROSECONDS_PER_MS;
};

/**
 * Measures the event loop's delay and logs the cause of pauses longer than 250 ms: the request that was the last to begin a
 * stage before the pause, other work if no request did, or the machine if the process got no CPU time.
 */
export const watchEventLoop = ({ system, logger, registry }: EventLoopWatchOptions): EventLoopWatch => {
  const delay =
    registry === undefined
      ? undefined
      : new Histogram({
          name: 'outbox_event_loop_delay_seconds',
          help: `Delay of a timer that is due every ${INTERVAL_MS} ms`,
          buckets: BUCKETS_SECONDS,
          registers: [registry],
        });
  const delays = createRecentDelays();
  let stages: Stage[] = [];
  let lookedMs = system.monotonicMs();
  let lookedCpuMs = threadCpuMs();

  const report = (delayMs: number, cpuMs: number, nowMs: number): void => {
    const fields = { delayMs: Math.round(delayMs), cpuMs: Math.round(cpuMs) };
    const work = longestOf(stages, nowMs);
    if (cpuMs < HELD_MS / 2) logger.warn(fields, 'the process got no CPU time');
    else if (work === undefined) logger.warn(fields, 'the event loop was blocked, but not by a request');
    else logger.warn({ ...fields, ...work }, 'a request blocked the event loop');
  };

  const timer = setInterval(() => {
    const nowMs = system.monotonicMs();
    const delayMs = Math.max(0, nowMs - lookedMs - INTERVAL_MS);
    const cpuMs = threadCpuMs();
    delay?.observe(delayMs / MS_PER_SECOND);
    delays.note(delayMs, nowMs);
    if (delayMs > HELD_MS) report(delayMs, cpuMs - lookedCpuMs, nowMs);
    stages = [];
    [lookedMs, lookedCpuMs] = [nowMs, cpuMs];
  }, INTERVAL_MS);
  timer.unref();

  return {
    touch: (work) => {
      if (stages.length < STAGES_MAX) stages.push({ work, atMs: system.monotonicMs() });
    },
    recent: () => delays.recent(system.monotonicMs()),
    stop: () => clearInterval(timer),
  };
};
