import { type EventStore, LOG_START, type Position } from '../domain/kernel/event-store.ts';
import type { System } from '../lib/async/async.ts';
import type { Database } from './database.ts';
import type { ProjectionName } from './projection.ts';

/** Shorter costs queries while callers wait, longer adds to their wait. */
const POLL_MS = 10;
const TIMEOUT_MS_DEFAULT = 2000;

/**
 * Positions for which readers of this process wait. A projection gathers events for a moment before it writes them, unless
 * a reader waits for its read model.
 */
export interface AwaitedPositions {
  /** A reader waits until these read models have passed a position. */
  note(names: readonly string[], position: Position): void;
  /**
   * Calls `hurry` as soon as a reader waits for the read model to go beyond a position, which may be now.
   * @returns stops that.
   */
  onBeyond(name: string, position: Position, hurry: () => void): () => void;
}

export const createAwaitedPositions = (): AwaitedPositions => {
  const awaited = new Map<string, Position>();
  const watching = new Map<string, () => void>();
  return {
    note: (names, position) => {
      for (const name of names) {
        if (position > (awaited.get(name) ?? LOG_START)) awaited.set(name, position);
        watching.get(name)?.();
      }
    },
    onBeyond: (name, position, hurry) => {
      const look = (): void => {
        if ((awaited.get(name) ?? LOG_START) > position) hurry();
      };
      watching.set(name, look);
      look();
      return () => {
        if (watching.get(name) === look) watching.delete(name);
      };
    },
  };
};

interface WaitOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Waits until the named read models have passed a position. @returns false: not in time. */
export type WaitFor = (names: readonly ProjectionName[], position: Position, options?: WaitOptions) => Promise<boolean>;

const CHECKPOINTS = 'select name, position from read_models.checkpoints';

interface Checkpoint {
  readonly name: string;
  readonly position: Position;
}

/** Positions by name of the read model. */
type PassedPositions = ReadonlyMap<string, Position>;

/**
 * Concurrent callers share one query; its result is not kept. Commits of projections do not wait for the disk
 * (`database.ts`), so checkpoints can move back after a crash, and a kept one would promise lost rows.
 */
const sharedRead = (pool: Database): (() => Promise<PassedPositions>) => {
  let reading: Promise<PassedPositions> | undefined;

  const read = async (): Promise<PassedPositions> => {
    const { rows } = await pool.query<Checkpoint>({ name: 'read-checkpoints', text: CHECKPOINTS });
    return new Map(rows.map(({ name, position }) => [name, position]));
  };

  // A query begun before this call may be too old; the next poll corrects that.
  return () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
};

export interface WaitForOptions {
  readonly pool: Database;
  readonly system: System;
  /** Awaited positions of this process's projections. Absent: this process runs no projections. */
  readonly awaited?: AwaitedPositions | undefined;
}

/** Reads the checkpoints that projections, of any process, move with their rows. */
export const createWaitFor = ({ pool, system, awaited }: WaitForOptions): WaitFor => {
  const read = sharedRead(pool);
  return async (names, position, { timeoutMs = TIMEOUT_MS_DEFAULT, signal } = {}) => {
    const deadline = system.monotonicMs() + timeoutMs;
    const isOver = (): boolean => signal?.aborted === true || system.monotonicMs() >= deadline;
    const isPassed = (passed: PassedPositions): boolean =>
      names.every((name) => (passed.get(name) ?? LOG_START) >= position);
    while (!isPassed(await read())) {
      if (isOver()) return false;
      awaited?.note(names, position);
      await system.sleep(POLL_MS);
    }
    return true;
  };
};

export interface ProjectionLag {
  readonly name: string;
  /** Age of the oldest event missing in the read model; 0: none. */
  readonly seconds: number;
  /** Events that could not be applied and wait for `retryParked`. */
  readonly parkedEvents: number;
  /** How far of the log is in it. */
  readonly position: Position;
}

const CHECKPOINTS_AND_PARKED = `
  select c.name, c.position, (select count(*)::int from read_models.parked_events p where p.projection = c.name) as parked
  from read_models.checkpoints c
  order by c.name`;

interface Row {
  readonly name: string;
  readonly position: Position;
  readonly parked: number;
}

export interface LagOptions {
  readonly pool: Database;
  readonly store: Pick<EventStore, 'readAll'>;
  readonly system: System;
}

/** Reads the lag of each read model, wherever its projection runs. */
export const createLagReader = ({ pool, store, system }: LagOptions): (() => Promise<readonly ProjectionLag[]>) => {
  const ageBehind = async (position: Position): Promise<number> => {
    const { events } = await store.readAll({ from: position, limit: 1 });
    const oldest = events[0]?.metadata.occurredAt;
    return oldest === undefined ? 0 : Math.max(0, system.now().getTime() - Date.parse(oldest)) / 1000;
  };

  return async () => {
    const { rows } = await pool.query<Row>(CHECKPOINTS_AND_PARKED);
    const positions = [...new Set(rows.map(({ position }) => position))];
    const ages = new Map(
      await Promise.all(positions.map(async (position) => [position, await ageBehind(position)] as const)),
    );
    return rows.map(({ name, position, parked }) => ({
      name,
      seconds: ages.get(position) ?? 0,
      parkedEvents: parked,
      position,
    }));
  };
};
