import type { Pool, PoolClient } from 'pg';
import { pause, untilAborted } from '../async/with-timeout.ts';
import { isFatal } from '../domain/codec.ts';
import type { Position } from '../domain/ports/event-store.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { System } from '../domain/ports/system.ts';
import { applyBatch } from './batch.ts';
import { type Checkpoint, Fenced, otherLog, readCheckpoint } from './checkpoints.ts';
import type { Batch, LogFollower } from './log-follower.ts';
import type { Projection } from './projection.ts';
import { endWhenSilent, tryLockRunning, whileAlive, withConnection } from './session.ts';

/** How often a process that stands by looks whether it is needed: the longest a read model stands still after a crash. */
const STANDBY_MS = 500;
/** Waits after faults in a row: the first costs little, the last keeps a broken database from being asked all the time. */
const BACK_OFF_MS = [50, 200, 1000, 5000] as const;

/**
 * Events applied in one transaction: larger batches cost memory and lock time, smaller ones cost commits, and write a
 * message's row again for what another batch has brought.
 */
const BATCH_EVENTS_MAX = 4000;
/**
 * Batches begin at most this often, so that events travel together. It is the most that is added to the age of a read
 * model; less costs more transactions.
 */
const PACE_MS = 20;
/** The same under load: a message's events then often meet in one batch, which writes its row once in place of thrice. */
const BUSY_PACE_MS = 100;
/** A batch this large after the short pace means load: about a thousand events a second. */
const BUSY_BATCH_EVENTS = 20;
/** The longest under load. Longer makes read models older; shorter leaves a busy machine three times the transactions. */
const HEAVY_PACE_MS = 500;
/**
 * Under load a batch begins after so many times the time that the last one took: as many events are heavy load for a slow
 * or busy machine that are light for a quick one. About three thousand events a second reach the longest on two cores.
 */
const PACE_PER_BATCH_TIME = 8;

export interface RunProjectionOptions {
  readonly pool: Pool;
  readonly system: System;
  readonly logger: Logger;
  readonly logId: string;
  readonly log: Pick<LogFollower, 'next'>;
  /** How long a session may say nothing before another process takes over (`session.ts`). */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
}

/** A newer version of this service has rebuilt the read model: this process would write what it no longer is. */
class OutdatedProjection extends Error {
  override readonly name = 'OutdatedProjection';
  constructor({ name, version }: Projection, stored: number) {
    super(`this process is older than read model ${name}: it knows version ${version} and finds ${stored}; upgrade it`);
  }
}

const requireUsable = (checkpoint: Checkpoint, projection: Projection, logId: string): void => {
  if (checkpoint.logId !== logId) throw otherLog(checkpoint.logId, logId);
  if (checkpoint.version > projection.version) throw new OutdatedProjection(projection, checkpoint.version);
};

/** From the beginning of a batch to that of the next. @param tookMs how long it took to apply. */
const paceMs = ({ isFull, events }: Batch, tookMs: number): number => {
  if (isFull) return 0;
  if (events.length < BUSY_BATCH_EVENTS) return PACE_MS;
  return Math.min(Math.max(PACE_PER_BATCH_TIME * tookMs, BUSY_PACE_MS), HEAVY_PACE_MS);
};

/** Batches of the log from a position on, paced; null: the signal aborted. */
const createNextBatch = (options: RunProjectionOptions): ((after: Position) => Promise<Batch | null>) => {
  const { log, system, signal } = options;
  let last: { readonly batch: Batch; readonly beganMs: number } | null = null;
  /** Asked for the next, the last one has been applied. */
  const waitMs = (): number => {
    if (last === null) return 0;
    const tookMs = system.monotonicMs() - last.beganMs;
    return paceMs(last.batch, tookMs) - tookMs;
  };
  return async (after) => {
    const ms = waitMs();
    if (ms > 0) await pause(system, ms, signal);
    const batch = await untilAborted(signal, log.next(after, { eventsMax: BATCH_EVENTS_MAX }));
    if (batch == null) return null;
    last = { batch, beganMs: system.monotonicMs() };
    return batch;
  };
};

/** Applies batch after batch; the one in hand is finished when the signal aborts. */
const follow = async (
  client: PoolClient,
  projection: Projection,
  options: RunProjectionOptions,
  onBatch: () => void,
) => {
  const { logId, logger } = options;
  const next = createNextBatch(options);
  const pulse = { ...options, db: client };
  const checkpoint = await readCheckpoint(client, projection, logId);
  requireUsable(checkpoint, projection, logId);
  let batch = await whileAlive(pulse, next(checkpoint.position));
  while (batch !== null) {
    const parked = await applyBatch({ client, projection, schema: 'read_models', logId }, batch);
    for (const { stream, position, type } of parked) {
      logger.error(
        { projection: projection.name, stream, position, type },
        'an event could not be applied and is parked',
      );
    }
    onBatch();
    batch = await whileAlive(pulse, next(batch.position));
  }
};

/** Asks for the projection's lock until no other process has it. */
const standBy = async (client: PoolClient, { name }: Projection, options: RunProjectionOptions): Promise<void> => {
  while (!(options.signal.aborted || (await tryLockRunning(client, name))))
    await pause(options.system, STANDBY_MS, options.signal);
};

/** One turn at running a projection, on one connection: stands by while another process has it, until the signal aborts. */
const turn = (projection: Projection, options: RunProjectionOptions, onBatch: () => void): Promise<void> =>
  withConnection(options.pool, async (client) => {
    await endWhenSilent(client, options.silenceMs);
    await standBy(client, projection, options);
    if (options.signal.aborted) return;
    await client.query('set search_path to read_models');
    await follow(client, projection, options, onBatch);
  });

/** Faults in a row: one line in the log when they begin, and one, with their number, when they end. */
interface Faults {
  /** @returns how long to wait before the next turn; null: no next. */
  failed(error: unknown): number | null;
  worked(): void;
}

const createFaults = ({ name }: Projection, logger: Logger): Faults => {
  let inARow = 0;
  const begin = (error: unknown): void => {
    if (error instanceof Fenced) logger.warn({ projection: name }, error.message);
    else logger.error({ projection: name, err: error }, 'a projection failed and is tried again');
  };
  return {
    failed: (error) => {
      if (error instanceof OutdatedProjection) {
        logger.error({ projection: name }, error.message);
        return null;
      }
      if (inARow === 0) begin(error);
      const waitMs = BACK_OFF_MS[Math.min(inARow, BACK_OFF_MS.length - 1)] ?? 0;
      inARow += 1;
      return waitMs;
    },
    worked: () => {
      if (inARow > 0) logger.info({ projection: name, faults: inARow }, 'a projection goes on');
      inARow = 0;
    },
  };
};

/** One turn, whatever comes of it. @returns how long to wait before the next; null: no next. @throws what is final. */
const guardedTurn = async (
  projection: Projection,
  options: RunProjectionOptions,
  faults: Faults,
): Promise<number | null> => {
  try {
    await turn(projection, options, faults.worked);
    return 0;
  } catch (error) {
    if (isFatal(error)) throw error;
    return faults.failed(error);
  }
};

/**
 * Keeps one projection running until the signal aborts: stands by while another process runs it, starts over from its
 * checkpoint after faults and after being fenced off. Ends where a newer version has rebuilt the read model.
 * @throws {UnknownEvent} this process is older than the log. @throws {MalformedEvent} @throws {StartRefused}
 */
export const runProjection = async (projection: Projection, options: RunProjectionOptions): Promise<void> => {
  const { system, signal } = options;
  const faults = createFaults(projection, options.logger);
  while (!signal.aborted) {
    const waitMs = await guardedTurn(projection, options, faults);
    if (waitMs === null) return;
    await pause(system, waitMs, signal);
  }
};
