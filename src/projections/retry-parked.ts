import type { Pool } from 'pg';
import type { EventStore, RecordedEvent, StreamName } from '../domain/kernel/event-store.ts';
import { applyOrPark, type Database, inTransaction, withConnection } from '../lib/projections/projections.ts';
import { PROJECTIONS } from './all.ts';
import type { Projection, ProjectionName } from './projection.ts';

export interface RetryParkedOptions {
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly projections?: readonly Projection[];
}

export interface RetryResult {
  readonly applied: number;
  readonly stillParked: number;
}

/** Events of one stream per transaction. The projection waits during it. */
const EVENTS_PER_TRANSACTION = 500;

const STREAMS = `
  select stream from read_models.parked_events where projection = $1 group by stream order by min(position)`;

const COUNT = 'select count(*)::int as count from read_models.parked_events where projection = $1';

/** The runner updates this row first in every transaction, so it waits and then sees what is no longer parked. */
const LOCK = 'select 1 from checkpoints where name = $1 for update';

const REVISIONS = `
  select revision from parked_events where projection = $1 and stream = $2 order by position limit $3`;

const UNPARK = 'delete from parked_events where projection = $1 and position = $2';

interface Job {
  readonly db: Database;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly projection: Projection;
  readonly stream: StreamName;
}

const parkedEvents = async ({ db, store, projection, stream }: Job): Promise<readonly RecordedEvent[]> => {
  const { rows } = await db.query<{ revision: number }>(REVISIONS, [projection.name, stream, EVENTS_PER_TRANSACTION]);
  const first = rows[0];
  if (first === undefined) return [];
  // Everything behind a parked event is parked too, so the revisions have no gaps.
  return store.readStream(stream, { from: first.revision, limit: rows.length });
};

/** Applies a stream's parked events in order until one fails again. @returns how many were applied. */
const retryStream = (job: Job): Promise<number> =>
  inTransaction(job.db, 'read_models', async () => {
    const { db, projection } = job;
    await db.query(LOCK, [projection.name]);
    let applied = 0;
    for (const event of await parkedEvents(job)) {
      if (!(await applyOrPark(db, projection, event, new Set()))) break;
      await db.query(UNPARK, [projection.name, event.position]);
      applied += 1;
    }
    return applied;
  });

const retryWholeStream = async (job: Job): Promise<number> => {
  let total = 0;
  for (;;) {
    const applied = await retryStream(job);
    total += applied;
    if (applied < EVENTS_PER_TRANSACTION) return total;
  }
};

/** Retries the parked events of a read model in order. Works beside its running projection. */
export const retryParked = async (
  { pool, store, projections = PROJECTIONS }: RetryParkedOptions,
  name: ProjectionName,
): Promise<RetryResult> => {
  const projection = projections.find((candidate) => candidate.name === name);
  if (projection === undefined) throw new TypeError(`there is no projection ${name}`);
  const { rows: streams } = await pool.query<{ stream: StreamName }>(STREAMS, [name]);
  const applied = await withConnection(pool, async (db) => {
    let total = 0;
    for (const { stream } of streams) total += await retryWholeStream({ db, store, projection, stream });
    return total;
  });
  const { rows } = await pool.query<{ count: number }>(COUNT, [name]);
  return { applied, stillParked: rows[0]?.count ?? 0 };
};
