import { resetRecording } from '../composition/copy-log.ts';
import type { Operator } from '../composition/open-operator.ts';
import { StartRefused } from '../lib/async/async.ts';
import { ADVISORY_LOCKS, createPool, type SessionLock, takeSessionLock } from '../lib/postgres/postgres.ts';
import { PROJECTIONS } from '../projections/all.ts';
import { requireSameLog } from '../projections/checkpoints.ts';
import type { Projection } from '../projections/projection.ts';
import { createReadModels } from '../projections/read-models.ts';
import { rebuild } from '../projections/rebuild.ts';
import { retryParked } from '../projections/retry-parked.ts';
import { RUNNER_CONNECTIONS } from '../projections/runner.ts';
import type { Invocation, OperatorCommand } from './command.ts';
import { countReads } from './count-reads.ts';
import { UsageError } from './failures.ts';

const ALL = 'all';
/** Follower that records webhook deliveries from the log. It is not a read model. */
const RECORDING = 'webhook-recording';

const chosen = ({ positionals }: Invocation): readonly Projection[] => {
  const [name] = positionals;
  const found = name === ALL ? PROJECTIONS : PROJECTIONS.filter((each) => each.name === name);
  if (found.length === 0)
    throw new UsageError(`name one of ${PROJECTIONS.map((each) => each.name).join(', ')}, or ${ALL}`);
  return found;
};

export const listProjectionsCommand: OperatorCommand = {
  name: 'projections list',
  usage: '',
  summary: 'lists the read models with their lag and parked events',
  run: async ({ pool, store, system }) =>
    (await createReadModels({ pool, store, system }).lag()).map(({ name, seconds, parkedEvents }) => ({
      name,
      lag_seconds: seconds,
      parked_events: parkedEvents,
    })),
};

/**
 * Read models may be rebuilt from another log only while no service runs.
 * @returns a lock that keeps services from starting; null if the log is the same. @throws {StartRefused}
 */
const lockOtherLog = async ({ databaseUrl, pool, store }: Operator): Promise<SessionLock | null> => {
  try {
    await requireSameLog(pool, await store.logId());
    return null;
  } catch (error) {
    const lock = error instanceof StartRefused ? await takeSessionLock(databaseUrl, ADVISORY_LOCKS.log, 'alone') : null;
    if (lock === null) throw error;
    return lock;
  }
};

export const rebuildProjectionCommand: OperatorCommand = {
  name: 'projections rebuild',
  usage: `NAME|${ALL}|${RECORDING}`,
  summary:
    'rebuilds a read model while the live one stays in use, then switches; moves webhooks to the end of another log',
  takesOtherLog: true,
  run: async (operator, invocation, _, terminal) => {
    const { databaseUrl, log, logger } = operator;
    const [name] = invocation.positionals;
    const projections = name === RECORDING ? [] : chosen(invocation);
    const lock = await lockOtherLog(operator);
    const bar = terminal.progress('rebuild');
    // Statements of a rebuild have no time limit.
    const pool = createPool({
      url: databaseUrl,
      name: 'rebuild',
      logger,
      max: RUNNER_CONNECTIONS,
      statementTimeoutMs: 0,
    });
    try {
      const store = await countReads(log, bar);
      const rebuilt = projections.length === 0 ? [] : await rebuild({ pool, store, logger }, projections);
      const reset = name === RECORDING || name === ALL ? await resetRecording({ pool, log }) : [];
      return [
        ...rebuilt.map(({ name, events, parkedEvents }) => ({ name, events, parked_events: parkedEvents })),
        ...reset,
      ];
    } finally {
      bar.end();
      await pool.end();
      await lock?.release();
    }
  },
};

export const retryParkedCommand: OperatorCommand = {
  name: 'projections retry-parked',
  usage: `NAME|${ALL}`,
  summary: 'retries parked events in order',
  run: async ({ pool, store }, invocation) => {
    const results = [];
    for (const { name } of chosen(invocation)) {
      const { applied, stillParked } = await retryParked({ pool, store }, name);
      results.push({ name, applied, still_parked: stillParked });
    }
    return results;
  },
};
