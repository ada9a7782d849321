import type { Pool, PoolClient } from 'pg';
import { ENDED, type Logger, pause, type System, untilAborted } from '../async/async.ts';
import type { LogProofs, Position } from '../event-log/event-log.ts';
import { createLogFollower } from '../event-log/follower.ts';
import { applyBatch } from './apply-or-park.ts';
import {
  type AwaitedPositions,
  type Checkpoint,
  createAwaitedPositions,
  Fenced,
  hurryForOthers,
  OtherLog,
  readCheckpoint,
  requireSameLog,
} from './checkpoints.ts';
import { endWhenSilent, SILENCE_MS_MAX, tryLockRunning, whileAlive, withConnection } from './database.ts';
import type { FollowedBatch, Follower, Log, Projection } from './projection.ts';
import { rebuild } from './rebuild.ts';

/** How often a standby process tries to take over: the longest a read model stalls after a crash. */
const STANDBY_MS = 500;
/** Waits after consecutive faults. */
const BACK_OFF_MS = [50, 200, 1000, 2000] as const;

/**
 * Events per transaction. Higher costs memory and lock time, lower costs commits and writes a message's row more often.
 */
const BATCH_EVENTS_MAX = 4000;
/**
 * Events are gathered for so long before they are written, unless a reader waits for them, one of them is urgent, or the
 * process has just started. Mail and webhooks go first, the events of a message that is delivered at once share a batch,
 * which writes its row once or not at all, and read models that none of them concerns write nothing but a checkpoint a
 * second. Longer makes read models older where no reader waits, and takes memory; shorter writes more and delays mail.
 */
const GATHER_MS = 1_000;
/**
 * While it gathers, a projection looks at new events this often. Shorter costs processor time for each of many small pages,
 * longer delays urgent events.
 */
const LOOK_EVERY_MS = 100;
/** Shortest time between two batches under load. */
const BUSY_PACE_MS = 100;
/** A batch this large means load: some seven hundred events a second. */
const BUSY_BATCH_EVENTS = 20;
/** The longest pace under load. Longer makes read models older, shorter costs a busy machine three times the transactions. */
const HEAVY_PACE_MS = 500;
/**
 * Under load the pace is this multiple of the time that the last batch took, so that a slow machine gets longer pauses.
 * About 3,000 events a second reach the longest pace on two cores.
 */
const PACE_PER_BATCH_TIME = 8;

interface RunProjectionOptions {
  readonly pool: Pool;
  readonly system: System;
  readonly logger: Logger;
  readonly logId: string;
  readonly log: Pick<Follower, 'next'>;
  readonly proofs?: LogProofs;
  readonly awaited: AwaitedPositions;
  /** Errors that no restart mends. */
  readonly isFatal: (error: unknown) => boolean;
  /** How long a session may be silent before another process takes over (`database.ts`). */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
}

/** A newer version of the service has rebuilt the read model: this process would write old rows. */
class OutdatedProjection extends Error {
  override readonly name = 'OutdatedProjection';
  constructor({ name, version }: Projection, stored: number) {
    super(`this process is older than read model ${name}: it knows version ${version} and finds ${stored}; upgrade it`);
  }
}

const requireUsable = (checkpoint: Checkpoint, projection: Projection, logId: string): void => {
  if (checkpoint.logId !== logId) throw new OtherLog(checkpoint.logId, logId);
  if (checkpoint.version > projection.version) throw new OutdatedProjection(projection, checkpoint.version);
};

/** Time from the start of a batch to the start of the next. @param tookMs to apply it. */
const paceMs = (batch: FollowedBatch, tookMs: number): number => {
  if (batch.isFull || batch.events.length < BUSY_BATCH_EVENTS) return 0;
  return Math.min(Math.max(PACE_PER_BATCH_TIME * tookMs, BUSY_PACE_MS), HEAVY_PACE_MS);
};

/** Reads batches of the log at a limited pace; null: the signal aborted. */
const createNextBatch = (
  { name, urgent = [] }: Projection,
  { log, awaited, system, signal }: RunProjectionOptions,
): ((after: Position) => Promise<FollowedBatch | null>) => {
  let last: { readonly batch: FollowedBatch; readonly beganMs: number } | null = null;
  const waitMs = (): number => {
    if (last === null) return 0;
    const tookMs = system.monotonicMs() - last.beganMs;
    return paceMs(last.batch, tookMs) - tookMs;
  };
  const read = (after: Position, until: AbortSignal) =>
    untilAborted(until, log.next(after, { eventsMax: BATCH_EVENTS_MAX, name }));
  const isPatient = ({ events, isFull }: FollowedBatch): boolean =>
    !(isFull || events.some(({ type }) => urgent.includes(type)));
  /** Follows the log until the time is up, a reader waits, or an event is urgent. @returns all that came after a position. */
  const gather = async (after: Position, first: FollowedBatch, ms: number): ReturnType<typeof read> => {
    const over = new AbortController();
    const end = (): void => over.abort(ENDED);
    const stop = awaited.onBeyond(name, after, end);
    signal.addEventListener('abort', end);
    try {
      pause(system, ms, over.signal).then(end, end);
      for (let seen: Awaited<ReturnType<typeof read>> = first; seen != null && isPatient(seen); ) {
        await pause(system, LOOK_EVERY_MS, over.signal);
        seen = over.signal.aborted ? null : await read(seen.position, over.signal);
      }
    } finally {
      stop();
      signal.removeEventListener('abort', end);
      end();
    }
    return read(after, signal);
  };
  return async (after) => {
    const ms = waitMs();
    if (ms > 0) await pause(system, ms, signal);
    let batch = await read(after, signal);
    if (batch != null && last !== null && isPatient(batch))
      batch = await gather(after, batch, GATHER_MS - Math.max(0, ms));
    if (batch == null) return null;
    last = { batch, beganMs: system.monotonicMs() };
    return batch;
  };
};

/** Applies batch after batch. The current one is finished when the signal aborts. */
const follow = async (
  client: PoolClient,
  projection: Projection,
  options: RunProjectionOptions,
  onBatch: () => void,
) => {
  const { logId, proofs, logger } = options;
  const next = createNextBatch(projection, options);
  const pulse = { ...options, db: client };
  const checkpoint = await readCheckpoint(client, projection, logId);
  requireUsable(checkpoint, projection, logId);
  let batch = await whileAlive(pulse, next(checkpoint.position));
  while (batch !== null) {
    const parked = await applyBatch({ client, projection, schema: 'read_models', logId, proofs }, batch);
    for (const { stream, position, type } of parked) {
      logger.error(
        { projection: projection.name, stream, position, type },
        'parked an event that could not be applied',
      );
    }
    onBatch();
    batch = await whileAlive(pulse, next(batch.position));
  }
};

/** Waits for the projection's lock. */
const standBy = async (client: PoolClient, { name }: Projection, options: RunProjectionOptions): Promise<void> => {
  while (!(options.signal.aborted || (await tryLockRunning(client, name))))
    await pause(options.system, STANDBY_MS, options.signal);
};

/** Runs a projection on one connection until the signal aborts; stands by while another process runs it. */
const turn = (projection: Projection, options: RunProjectionOptions, onBatch: () => void): Promise<void> =>
  withConnection(options.pool, async (client) => {
    await endWhenSilent(client, options.silenceMs);
    await standBy(client, projection, options);
    if (options.signal.aborted) return;
    await client.query('set search_path to read_models');
    await follow(client, projection, options, onBatch);
  });

/** Consecutive faults: one log line when they begin, one with their number when they end. */
interface Faults {
  /** @returns how long to wait before the next turn; null: no next. */
  failed(error: unknown): number | null;
  worked(): void;
}

const createFaults = ({ name }: Projection, logger: Logger): Faults => {
  let inARow = 0;
  const begin = (error: unknown): void => {
    if (error instanceof Fenced) logger.warn({ projection: name }, error.message);
    else logger.error({ projection: name, err: error }, 'a projection failed: retrying');
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
      if (inARow > 0) logger.info({ projection: name, faults: inARow }, 'a projection recovered');
      inARow = 0;
    },
  };
};

/** One turn. @returns how long to wait before the next; null: no next. @throws final errors. */
const guardedTurn = async (
  projection: Projection,
  options: RunProjectionOptions,
  faults: Faults,
): Promise<number | null> => {
  try {
    await turn(projection, options, faults.worked);
    return 0;
  } catch (error) {
    if (options.isFatal(error)) throw error;
    return faults.failed(error);
  }
};

/**
 * Keeps one projection running until the signal aborts: stands by while another process runs it, and restarts from its
 * checkpoint after faults. Ends if a newer version has rebuilt the read model.
 * @throws fatal errors.
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

/** Connections that a runner needs: one for each projection, as many for a rebuild of all, and three more. */
export const runnerConnections = (projections: readonly Projection[]): number => 2 * projections.length + 3;

export interface RunnerOptions {
  /** With at least `runnerConnections`. */
  readonly pool: Pool;
  /** For rebuilds, whose statements take longer. Default: `pool`. */
  readonly rebuildPool?: Pool;
  readonly store: Pick<Log, keyof LogProofs | 'logId' | 'head' | 'readAll' | 'subscribe'>;
  /** Shared by other consumers of the process. Default: one of its own. */
  readonly log?: Follower;
  /** Shared with the readers of the process. Default: none of them hurries it. */
  readonly awaited?: AwaitedPositions;
  readonly system: System;
  readonly logger: Logger;
  readonly projections: readonly Projection[];
  /** Errors that no restart of a projection mends. */
  readonly isFatal: (error: unknown) => boolean;
  /** Ends the sessions that may be ended when they hold up the switch to new tables. */
  readonly endHoldUps: (pool: Pool) => Promise<unknown>;
  /** Default: `SILENCE_MS_MAX`. */
  readonly silenceMs?: number;
}

interface ProjectionRunner {
  /**
   * Keeps the projections running until the signal aborts; current batches are finished. Processes share the work: each
   * projection runs in one of them, the others stand by.
   * @throws {StartRefused} the read models were made from another log.
   * @throws fatal errors; all projections have stopped.
   */
  run(signal: AbortSignal): Promise<void>;
}

/** Wait after a rebuild that failed or that another process runs. */
const REBUILD_AGAIN_MS = 1000;

const OUTDATED = `
  select c.name from read_models.checkpoints c
  join json_to_recordset($1) as known(name text, version integer) on known.name = c.name and known.version > c.version`;

export const createProjectionRunner = ({
  pool,
  rebuildPool = pool,
  store,
  log: shared,
  awaited = createAwaitedPositions(),
  system,
  logger,
  projections,
  isFatal,
  endHoldUps,
  silenceMs = SILENCE_MS_MAX,
}: RunnerOptions): ProjectionRunner => {
  const needed = runnerConnections(projections);
  if (pool.options.max < needed) {
    throw new TypeError(`a runner of projections needs a pool of ${needed} connections, not ${pool.options.max}`);
  }

  const outdated = async (): Promise<readonly Projection[]> => {
    const versions = projections.map(({ name, version }) => ({ name, version }));
    const { rows } = await pool.query<{ name: string }>(OUTDATED, [JSON.stringify(versions)]);
    return projections.filter((projection) => rows.some(({ name }) => name === projection.name));
  };

  /** @returns whether all read models are current. */
  const rebuildOrWait = async (signal: AbortSignal): Promise<boolean> => {
    try {
      const old = await outdated();
      if (old.length === 0) return true;
      logger.info({ projections: old.map(({ name }) => name) }, 'rebuilding read models of an older version');
      await rebuild({ pool: rebuildPool, store, logger, endHoldUps, signal }, old);
    } catch (error) {
      if (isFatal(error)) throw error;
      logger.warn({ err: error }, 'the rebuild failed: retrying');
      await system.sleep(REBUILD_AGAIN_MS, signal).catch(() => undefined);
    }
    return false;
  };

  /** Rebuilds read models of older versions, or waits while another process does. */
  const renew = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && !(await rebuildOrWait(signal)));
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    const logId = await store.logId();
    await requireSameLog(pool, logId);
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const log = shared ?? createLogFollower({ store, system });
    const parts = { pool, system, logger, logId, log, proofs: store, awaited, isFatal };
    const options: RunProjectionOptions = { ...parts, silenceMs, signal: either };
    const old = new Set(await outdated());
    const renewed = old.size === 0 ? Promise.resolve() : renew(either);
    const stopAll = (error: unknown): never => {
      failed.abort();
      throw error;
    };
    const runWhenRenewed = async (projection: Projection): Promise<void> => {
      if (old.has(projection)) await renewed;
      await runProjection(projection, options);
    };
    const hurrying = hurryForOthers({ pool, system, awaited, signal: either });
    const ended = await Promise.allSettled(projections.map((projection) => runWhenRenewed(projection).catch(stopAll)));
    failed.abort();
    await hurrying;
    if (log !== shared) await log.close();
    const failure = ended.find(({ status }) => status === 'rejected');
    if (failure?.status === 'rejected' && !signal.aborted) throw failure.reason;
  };

  return { run };
};
