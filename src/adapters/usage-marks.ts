import type { Pool } from 'pg';
import { USAGE_FLUSH_MS, type UsageMark, type UsageMarks, type UsedSecret } from '../domain/api-key/secret.ts';
import type { Logger, System } from '../lib/async/async.ts';
import { orUnavailable } from '../lib/postgres/postgres.ts';

export interface PostgresUsageMarksOptions {
  readonly pool: Pool;
  readonly system: System;
  readonly logger: Logger;
}

/**
 * Several processes mark the same secrets, and the newest mark wins. Rows are ordered, so that two flushes cannot
 * deadlock.
 */
const FLUSH = {
  name: 'usage-marks-flush',
  text: `
    insert into vault.key_usage (key_id, secret_hash, last_used_at, last_address)
    select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[]) as mark (key_id, secret_hash, at, address)
    order by mark.key_id, mark.secret_hash
    on conflict (key_id, secret_hash) do update
      set last_used_at = excluded.last_used_at, last_address = excluded.last_address
      where key_usage.last_used_at < excluded.last_used_at`,
};

const OF_KEYS = {
  name: 'usage-marks-of-keys',
  text: `
    select key_id, secret_hash, last_used_at, coalesce(last_address, '') as last_address
    from vault.key_usage
    where key_id = any ($1)`,
};

interface Row {
  readonly key_id: string;
  readonly secret_hash: string;
  readonly last_used_at: Date;
  readonly last_address: string;
}

const markOf = (row: Row): UsageMark => ({
  keyId: row.key_id,
  secretHash: row.secret_hash,
  lastUsedAt: row.last_used_at,
  lastAddress: row.last_address,
});

/** Marks collected in memory and written every minute. */
export const createPostgresUsageMarks = ({ pool, system, logger }: PostgresUsageMarksOptions): UsageMarks => {
  const pending = createPendingMarks();
  const closing = new AbortController();

  const write = async (marks: readonly UsageMark[]): Promise<void> => {
    await pool.query({
      ...FLUSH,
      values: [
        marks.map(({ keyId }) => keyId),
        marks.map(({ secretHash }) => secretHash),
        marks.map(({ lastUsedAt }) => lastUsedAt),
        marks.map(({ lastAddress }) => lastAddress),
      ],
    });
  };

  const flush = async (): Promise<void> => {
    const marks = pending.take();
    if (marks.length === 0) return;
    try {
      await write(marks);
    } catch (error) {
      for (const mark of marks) pending.note(mark);
      logger.warn({ error, marks: marks.length }, 'could not write usage marks: retrying in a minute');
    }
  };

  const flushEveryMinute = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await system.sleep(USAGE_FLUSH_MS, closing.signal).catch(() => undefined);
      await flush();
    }
  };
  const flushing = flushEveryMinute();

  return {
    mark: pending.note,
    of: async (keyIds) => {
      const stored = await orUnavailable(pool.query<Row>({ ...OF_KEYS, values: [keyIds] }));
      const newest = createPendingMarks();
      for (const mark of [...stored.rows.map(markOf), ...pending.of(keyIds)]) newest.note(mark);
      return newest.take();
    },
    flush,
    close: async () => {
      closing.abort();
      await flushing;
    },
  };
};

interface PendingMarks {
  note(mark: UsageMark): void;
  /** Removes and returns all marks. */
  take(): readonly UsageMark[];
  of(keyIds: readonly string[]): readonly UsageMark[];
}

const nameOf = ({ keyId, secretHash }: UsedSecret): string => `${keyId} ${secretHash}`;

/** The newest mark of each secret. */
const createPendingMarks = (): PendingMarks => {
  let marks = new Map<string, UsageMark>();
  return {
    note: (mark) => {
      const name = nameOf(mark);
      const known = marks.get(name);
      if (known === undefined || known.lastUsedAt.getTime() <= mark.lastUsedAt.getTime()) marks.set(name, mark);
    },
    take: () => {
      const taken = [...marks.values()];
      marks = new Map();
      return taken;
    },
    of: (keyIds) => [...marks.values()].filter(({ keyId }) => keyIds.includes(keyId)),
  };
};

/** Marks that are lost when the process ends. */
export const createInMemoryUsageMarks = (): UsageMarks => {
  const marks = createPendingMarks();
  return {
    mark: marks.note,
    of: async (keyIds) => marks.of(keyIds),
    flush: async () => undefined,
    close: async () => undefined,
  };
};
