import type { Pool } from 'pg';
import type { System } from '../../lib/async/async.ts';
import { openContents, type Part, sealContents } from '../contents/contents-codec.ts';
import { CANARY, createSecretBox, type SecretBox, type SecretKeys } from './postgres.ts';

export interface ReencryptOptions {
  readonly pool: Pool;
  readonly system: Pick<System, 'randomBytes' | 'monotonicMs' | 'sleep'>;
  readonly secretKeys: SecretKeys;
  /** True if unencrypted contents must be encrypted too. */
  readonly encryptsContents: boolean;
  onProgress?(progress: Progress): void;
}

export interface Progress {
  readonly table: 'contents' | 'secrets';
  /** Rows processed by this run. */
  readonly rows: number;
  /** Estimated rows of the whole table. */
  readonly ofAbout: number;
}

export interface ReencryptionResult {
  /** Rows encrypted under the current key by this run. */
  readonly reencrypted: number;
  /** Ids of rows that no available key opens. At most ten. */
  readonly unreadable: readonly string[];
}

/** Rows processed together. Smaller is more round trips, larger holds more rows locked for a moment. */
const ROWS_PER_STEP = 200;
/** Contents read together, in bytes. A larger row is read alone. */
const BYTES_PER_STEP = 8_000_000;
/** Assumed size of a row that was written before sizes were stored. */
const BYTES_UNKNOWN = 1_000_000;
/** Pause in proportion to each step's time, since the database serves mail at the same time. */
const REST_SHARE = 0.5;
const UNREADABLE_NAMED_MAX = 10;
const PROGRESS_EVERY_MS = 5_000;

/**
 * Position at which an interrupted run continues. It belongs to this command only, and is removed when it completes.
 */
const CURSOR_TABLE = `
  create table if not exists vault.reencryption (
    purpose text primary key,
    after_id uuid not null
  )`;

const CONTENTS_STEP = `
  select id, organization_id, kind, head::text as head, body::text as body
  from (
    select c.*, sum(coalesce(size_bytes, ${BYTES_UNKNOWN})) over (order by id) as bytes, row_number() over (order by id) as place
    from (select * from vault.contents where id > $1 order by id limit ${ROWS_PER_STEP}) c
  ) sized
  where place = 1 or bytes <= ${BYTES_PER_STEP}
  order by id`;

/** Contents that were erased or expired during the run stay so. */
const CONTENTS_UPDATE = `
  update vault.contents c set head = nullif(n.head, '')::json, body = n.body::json, size_bytes = octet_length(n.body)
  from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, head, body)
  where c.id = n.id and c.kind not in ('expired', 'erased')`;

const SECRETS_STEP = `
  select id, ciphertext from vault.secrets
  where id > $1 and id <> '${CANARY}' order by id limit ${ROWS_PER_STEP}`;
const SECRETS_UPDATE = `
  update vault.secrets s set ciphertext = n.ciphertext
  from unnest($1::text[], $2::bytea[], $3::bytea[]) as n (id, ciphertext, before)
  where s.id = n.id and s.ciphertext = n.before`;

interface ContentsRow {
  readonly id: string;
  readonly kind: string;
  readonly head: string | null;
  readonly body: string;
}

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Encrypts the vault under the current key, step by step alongside a running service. Everything that opens with either
 * key is sealed again, and unencrypted contents too if requested. It may be interrupted at any time and continues where
 * it stopped. The row that lets a process start is the last, so that the previous key is required until all others are
 * done.
 */
export const reencrypt = async (options: ReencryptOptions): Promise<ReencryptionResult> => {
  const { pool, system, secretKeys, encryptsContents, onProgress = () => undefined } = options;
  const contentsBox = createSecretBox(secretKeys, 'vault.contents', system);
  const secretsBox = createSecretBox(secretKeys, 'vault.secrets', system);
  const unreadable: string[] = [];
  let reencrypted = 0;
  let toldMs = Number.NEGATIVE_INFINITY;

  const estimate = async (table: Progress['table']): Promise<number> => {
    const text = 'select greatest(reltuples, 0)::float8 as rows from pg_class where oid = $1::regclass';
    const { rows } = await pool.query<{ rows: number }>(text, [`vault.${table}`]);
    return rows[0]?.rows ?? 0;
  };

  /** Runs steps until one finds no rows. A step returns the number of rows it processed. */
  const run = async (table: Progress['table'], step: () => Promise<number>): Promise<void> => {
    const about = await estimate(table);
    let rows = 0;
    for (let found = -1; found !== 0; ) {
      const begunMs = system.monotonicMs();
      found = await step();
      rows += found;
      const nowMs = system.monotonicMs();
      if (found === 0 || nowMs - toldMs >= PROGRESS_EVERY_MS) {
        toldMs = nowMs;
        onProgress({ table, rows, ofAbout: Math.max(about, rows) });
      }
      await system.sleep((nowMs - begunMs) * REST_SHARE);
    }
  };

  const orUnreadable = async <T>(id: string, seal: () => T | null | Promise<T | null>): Promise<T | null> => {
    try {
      return await seal();
    } catch {
      if (unreadable.length < UNREADABLE_NAMED_MAX) unreadable.push(id);
      return null;
    }
  };

  const resealed = async <Row, T>(rows: readonly Row[], one: (row: Row) => Promise<T | null>): Promise<T[]> => {
    const changed: T[] = [];
    for (const row of rows) {
      const now = await one(row);
      if (now !== null) changed.push(now);
    }
    return changed;
  };

  /** New value, or null to leave the column unchanged. */
  const resealedPart = async (box: SecretBox, id: string, part: Part, stored: string): Promise<string | null> => {
    if (!stored.startsWith('"')) return encryptsContents ? sealContents(box, id, part, stored) : null;
    const sealed = stored.slice(1, -1);
    if (box.isCurrent(Buffer.from(sealed.slice(0, 32), 'base64'))) return null;
    return sealContents(box, id, part, await openContents(box, id, part, sealed));
  };

  const resealedContents = ({ id, head, body }: ContentsRow) =>
    orUnreadable(id, async () => {
      // Both were written together, so the body's state applies to the head.
      const newBody = await resealedPart(contentsBox, id, 'body', body);
      if (newBody === null) return null;
      return {
        id,
        head: head === null ? '' : ((await resealedPart(contentsBox, id, 'head', head)) ?? head),
        body: newBody,
      };
    });

  const cursorOf = async (purpose: string): Promise<string> => {
    await pool.query(CURSOR_TABLE);
    // A run to another key has sealed rows before the position at which a run to this one stopped.
    await pool.query('delete from vault.reencryption where purpose <> $1', [purpose]);
    const { rows } = await pool.query<{ id: string }>(
      'select after_id as id from vault.reencryption where purpose = $1',
      [purpose],
    );
    return rows[0]?.id ?? BEFORE_ALL;
  };

  const contents = async (): Promise<void> => {
    const purpose = `${contentsBox.keyId} ${encryptsContents}`;
    let after = await cursorOf(purpose);
    await run('contents', async () => {
      const { rows } = await pool.query<ContentsRow>(CONTENTS_STEP, [after]);
      const changed = await resealed(rows, resealedContents);
      if (changed.length > 0) {
        const values = [changed.map(({ id }) => id), changed.map(({ head }) => head), changed.map(({ body }) => body)];
        reencrypted += (await pool.query(CONTENTS_UPDATE, values)).rowCount ?? 0;
      }
      after = rows.at(-1)?.id ?? after;
      // Rows that did not open are tried again by the next run, which may have their key.
      if (unreadable.length > 0) return rows.length;
      await pool.query(
        `insert into vault.reencryption (purpose, after_id) values ($1, $2)
        on conflict (purpose) do update set after_id = excluded.after_id`,
        [purpose, after],
      );
      return rows.length;
    });
  };

  const resealSecrets = async (
    rows: readonly { readonly id: string; readonly ciphertext: Buffer }[],
  ): Promise<void> => {
    const changed = await resealed(rows, ({ id, ciphertext }) =>
      orUnreadable(id, () =>
        secretsBox.isCurrent(ciphertext)
          ? null
          : { id, before: ciphertext, ciphertext: secretsBox.seal(id, secretsBox.open(id, ciphertext)) },
      ),
    );
    if (changed.length === 0) return;
    const values = [
      changed.map(({ id }) => id),
      changed.map(({ ciphertext }) => ciphertext),
      changed.map(({ before }) => before),
    ];
    reencrypted += (await pool.query(SECRETS_UPDATE, values)).rowCount ?? 0;
  };

  const secrets = async (): Promise<void> => {
    let after = '';
    await run('secrets', async () => {
      const { rows } = await pool.query<{ id: string; ciphertext: Buffer }>(SECRETS_STEP, [after]);
      await resealSecrets(rows);
      after = rows.at(-1)?.id ?? after;
      return rows.length;
    });
  };

  await contents();
  await secrets();
  if (unreadable.length === 0) {
    const canary = await pool.query<{ id: string; ciphertext: Buffer }>(
      `select id, ciphertext from vault.secrets where id = '${CANARY}'`,
    );
    await resealSecrets(canary.rows);
  }
  // The next run starts over: rows that did not open may then do so, under another PREVIOUS_SECRET_KEY.
  await pool.query('drop table if exists vault.reencryption');
  return { reencrypted, unreadable };
};
