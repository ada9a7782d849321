import type { Pool } from 'pg';
import { isFatal } from '../domain/kernel/codec.ts';
import type { EventStore } from '../domain/kernel/event-store.ts';
import type { Logger, System } from '../lib/async/async.ts';
import { PROJECTIONS } from './all.ts';
import { requireSameLog } from './checkpoints.ts';
import { createLogFollower, type LogFollower } from './log-follower.ts';
import { type AwaitedPositions, createAwaitedPositions } from './progress.ts';
import type { Projection } from './projection.ts';
import { rebuild } from './rebuild.ts';
import { type RunProjectionOptions, runProjection } from './run-projection.ts';
import { SILENCE_MS_MAX } from './session.ts';

/** Connections that a runner needs: one per projection, as many for a rebuild of all, and two more. */
export const RUNNER_CONNECTIONS = 2 * PROJECTIONS.length + 2;

export interface RunnerOptions {
  /** With at least `RUNNER_CONNECTIONS`. */
  readonly pool: Pool;
  /** For rebuilds, whose statements take longer. Default: `pool`. */
  readonly rebuildPool?: Pool;
  readonly store: Pick<EventStore, 'logId' | 'head' | 'readAll' | 'subscribe'>;
  /** Shared by other consumers of the process. Default: one of its own. */
  readonly log?: LogFollower;
  /** Shared with the readers of the process. Default: none of them hurries it. */
  readonly awaited?: AwaitedPositions;
  readonly system: System;
  readonly logger: Logger;
  readonly projections?: readonly Projection[];
  /** Default: `SILENCE_MS_MAX`. */
  readonly silenceMs?: number;
}

export interface ProjectionRunner {
  /**
   * Keeps the projections running until the signal aborts; current batches are finished. Processes share the work: each
   * projection runs in one of them, the others stand by.
   * @throws {StartRefused} the read models were made from another log.
   * @throws {UnknownEvent} this process is older than the log; all projections have stopped. @throws {MalformedEvent}
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
  projections = PROJECTIONS,
  silenceMs = SILENCE_MS_MAX,
}: RunnerOptions): ProjectionRunner => {
  if (pool.options.max < RUNNER_CONNECTIONS) {
    throw new TypeError(
      `a runner of projections needs a pool of ${RUNNER_CONNECTIONS} connections, not ${pool.options.max}`,
    );
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
      logger.info({ projections: old.map(({ name }) => name) }, 'read models of an older version are rebuilt');
      await rebuild({ pool: rebuildPool, store, logger, signal }, old);
    } catch (error) {
      if (isFatal(error)) throw error;
      logger.warn({ err: error }, 'the rebuild failed and is retried');
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
    const options: RunProjectionOptions = { pool, system, logger, logId, log, awaited, silenceMs, signal: either };
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
    const ended = await Promise.allSettled(projections.map((projection) => runWhenRenewed(projection).catch(stopAll)));
    if (log !== shared) await log.close();
    const failure = ended.find(({ status }) => status === 'rejected');
    if (failure?.status === 'rejected' && !signal.aborted) throw failure.reason;
  };

  return { run };
};
