import type { Logger, System } from '../../src/lib/async/async.ts';
import type { Ground } from './ground.ts';
import type { ScheduledStep } from './scheduler.ts';

/** Fate of a call that leaves a process. */
export interface Fate {
  /** When it takes effect; null: never. */
  readonly arrivesAfterMs: number | null;
  /** The error that the process gets instead of a response; null: it gets the response. */
  readonly failure: { readonly afterMs: number; readonly error: Error } | null;
}

interface Call<T> {
  readonly what: string;
  readonly fate: Fate;
  work(): Promise<T>;
}

/** One life of a process. When it dies, its memory is lost and none of its work continues. */
export interface Process {
  readonly name: string;
  readonly system: System;
  readonly logger: Logger;
  isAlive(): boolean;
  /** A frozen process does nothing until it thaws. */
  isFrozen(): boolean;
  /** Schedules work in this process. It never runs if the process has died by then, and runs late if it is frozen. */
  later(delayMs: number, what: string, run: () => void): ScheduledStep;
  call<T>(call: Call<T>): Promise<T>;
  /** A moment at which the process may die or freeze. */
  peril(): void;
  kill(): void;
  /** Ends the process in an orderly way, without jobs in flight. */
  end(): void;
  freeze(ms: number): void;
  onDeath(listener: () => void): () => void;
}

const NEVER = { cancel: (): void => undefined };
const FREEZE_MS_MIN = 500;
/** Longer than two consecutive leases. */
const FREEZE_MS_MAX = 45_000;

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** @param skewMs how far its wall clock is ahead. */
export const createProcess = (ground: Ground, name: string, skewMs: number): Process => {
  const { random, scheduler, faults, latencyMs, disturbed } = ground;
  const listeners = new Set<() => void>();
  let alive = true;
  let frozenUntilMs = 0;

  const end = (): void => {
    if (!alive) return;
    alive = false;
    for (const listener of listeners) listener();
  };

  const kill = (): void => {
    if (alive) disturbed(name, 'crash');
    end();
  };

  const freeze = (ms: number): void => {
    frozenUntilMs = Math.max(frozenUntilMs, scheduler.nowMs() + ms);
    scheduler.appoint(ms, `${name} thaws`, () => undefined);
    disturbed(name, 'freeze');
  };

  const peril = (): void => {
    if (!alive) return;
    if (faults.strikes('crash')) kill();
    else if (faults.strikes('freeze')) freeze(random.between(FREEZE_MS_MIN, FREEZE_MS_MAX));
  };

  const later = (delayMs: number, what: string, run: () => void): ScheduledStep => {
    if (!alive) return NEVER;
    let cancelled = false;
    const plan = (ms: number): ScheduledStep => scheduler.after(ms, `${name} ${what}`, arrive);
    const arrive = (): void => {
      if (!alive || cancelled) return;
      const frozenMs = frozenUntilMs - scheduler.nowMs();
      if (frozenMs > 0) planned = plan(frozenMs);
      else run();
    };
    let planned = plan(delayMs);
    return {
      cancel: () => {
        cancelled = true;
        planned.cancel();
      },
    };
  };

  const call = <T>({ what, fate, work }: Call<T>): Promise<T> => {
    peril();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (!alive) return promise;
    const { failure, arrivesAfterMs } = fate;
    if (failure !== null) {
      disturbed(name, `is not answered: ${what}`);
      later(failure.afterMs, `${what} fails`, () => reject(failure.error));
    }
    const answer = (tell: () => void): void => {
      peril();
      if (failure === null) later(latencyMs(), `${what} answered`, tell);
    };
    const arrive = (): void => {
      void work().then(
        (result) => answer(() => resolve(result)),
        (error: unknown) => answer(() => reject(error)),
      );
    };
    if (arrivesAfterMs !== null) scheduler.after(arrivesAfterMs, `${name} ${what}`, arrive);
    return promise;
  };

  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    const abort = (): void => {
      planned.cancel();
      if (alive) reject(signal?.reason);
    };
    const planned = later(ms, 'wakes', () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
    return promise;
  };

  return {
    name,
    logger: silent,
    system: {
      now: () => new Date(ground.startMs + scheduler.nowMs() + skewMs),
      monotonicMs: () => scheduler.nowMs(),
      randomBytes: random.bytes,
      uuid: random.uuid,
      sleep,
    },
    isAlive: () => alive,
    isFrozen: () => frozenUntilMs > scheduler.nowMs(),
    later,
    call,
    peril,
    kill,
    end,
    freeze,
    onDeath: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};
