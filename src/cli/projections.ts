import { createPool } from '../adapters/postgres/pool.ts';
import { ADVISORY_LOCKS, type SessionLock, takeSessionLock } from '../adapters/postgres/session-lock.ts';
import { resetRecording } from '../composition/copy-log.ts';
import type { Operator } from '../composition/open-operator.ts';
import { StartRefused } from '../domain/start-refused.ts';
import { PROJECTIONS } from '../projections/all.ts';
import { requireSameLog } from '../projections/checkpoints.ts';
import type { Projection } from '../projections/projection.ts';
import { createReadModels } from '../projections/read-models.ts';
import { rebuild } from '../projections/rebuild.ts';
import { retryParked } from '../projections/retry-parked.ts';
import { RUNNER_CONNECTIONS } from '../projections/runner.ts';
import { type Invocation, type OperatorCommand, UsageError } from './command.ts';

const ALL = 'all';
/** No read model: how far the log was turned into webhook deliveries, which are the vault's. */
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
  summary: 'lists the read models: how far behind the log, and how many events are parked',
  options: {},
  needs: 'engines',
  run: async ({ pool, store, system }) =>
    (await createReadModels({ pool, store, system }).lag()).map(({ name, seconds, parkedEvents }) => ({
      name,
      lag_seconds: seconds,
      parked_events: parkedEvents,
    })),
};

/**
 * Read models may be made from another log than before while no service runs: beside one, they would stop it.
 * @returns what keeps services from starting meanwhile; null: it is the same log, and they may. @throws {StartRefused}
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
  summary: 'makes a read model anew beside the live one, and switches; lets webhooks go on at the end of another log',
  options: {},
  takesName: true,
  needs: 'engines',
  takesOtherLog: true,
  run: async (operator, invocation) => {
    const { databaseUrl, log, logger } = operator;
    const [name] = invocation.positionals;
    const projections = name === RECORDING ? [] : chosen(invocation);
    const lock = await lockOtherLog(operator);
    // A rebuild reads and writes for as long as it takes.
    const pool = createPool({
      url: databaseUrl,
      name: 'rebuild',
      logger,
      max: RUNNER_CONNECTIONS,
      statementTimeoutMs: 0,
    });
    try {
      const rebuilt = projections.length === 0 ? [] : await rebuild({ pool, store: log, logger }, projections);
      const reset = name === RECORDING || name === ALL ? await resetRecording({ pool, log }) : [];
      return [
        ...rebuilt.map(({ name, events, parkedEvents }) => ({ name, events, parked_events: parkedEvents })),
        ...reset,
      ];
    } finally {
      await pool.end();
      await lock?.release();
    }
  },
};

export const retryParkedCommand: OperatorCommand = {
  name: 'projections retry-parked',
  usage: `NAME|${ALL}`,
  summary: 'tries again, in order, the events that could not be applied',
  options: {},
  takesName: true,
  needs: 'engines',
  run: async ({ pool, store }, invocation) => {
    const results = [];
    for (const { name } of chosen(invocation)) {
      const { applied, stillParked } = await retryParked({ pool, store }, name);
      results.push({ name, applied, still_parked: stillParked });
    }
    return results;
  },
};
