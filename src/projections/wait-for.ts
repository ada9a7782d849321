import { LOG_START, type Position } from '../domain/event-store.ts';
import type { System } from '../domain/system.ts';
import type { Database } from './database.ts';
import type { ProjectionName } from './names.ts';

/** How often checkpoints are read while somebody waits: what is added to the wait, against queries per second. */
const POLL_MS = 10;
const TIMEOUT_MS_DEFAULT = 2000;

interface WaitOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Whether the named read models have passed a position of the log, or do so in time. */
export type WaitFor = (names: readonly ProjectionName[], position: Position, options?: WaitOptions) => Promise<boolean>;

const CHECKPOINTS = 'select name, position from read_models.checkpoints';

interface Checkpoint {
  readonly name: string;
  readonly position: Position;
}

/** Checkpoints as last read, and reading them again. */
interface Checkpoints {
  passed(names: readonly ProjectionName[], position: Position): boolean;
  read(): Promise<void>;
}

/** All who wait at the same time share one query, and what is known to have passed is not asked again. */
const sharedCheckpoints = (pool: Database): Checkpoints => {
  const known = new Map<string, Position>();
  let reading: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    const { rows } = await pool.query<Checkpoint>({ name: 'read-checkpoints', text: CHECKPOINTS });
    for (const { name, position } of rows) known.set(name, position);
  };

  return {
    passed: (names, position) => names.every((name) => (known.get(name) ?? LOG_START) >= position),
    // One that was begun before this call may say too little; the next poll says the rest.
    read: () => {
      reading ??= read().finally(() => {
        reading = undefined;
      });
      return reading;
    },
  };
};

/** Reads the checkpoints, which whatever process runs the projections moves in the transaction of the rows. */
export const createWaitFor = ({ pool, system }: { readonly pool: Database; readonly system: System }): WaitFor => {
  const checkpoints = sharedCheckpoints(pool);
  return async (names, position, { timeoutMs = TIMEOUT_MS_DEFAULT, signal } = {}) => {
    const deadline = system.monotonicMs() + timeoutMs;
    const isOver = (): boolean => signal?.aborted === true || system.monotonicMs() >= deadline;
    if (checkpoints.passed(names, position)) return true;
    await checkpoints.read();
    while (!(checkpoints.passed(names, position) || isOver())) {
      await system.sleep(POLL_MS);
      await checkpoints.read();
    }
    return checkpoints.passed(names, position);
  };
};
