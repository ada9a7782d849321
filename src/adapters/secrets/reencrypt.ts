import type { Pool } from 'pg';
import type { System } from '../../lib/async/async.ts';
import { openContents, type Part, sealContents } from '../contents/contents-codec.ts';
import { createSecretBox, type SecretBox, type SecretKeys } from './secret-box.ts';
import { CANARY } from './secret-key.ts';

export interface ReencryptOptions {
  readonly pool: Pool;
  readonly system: Pick<System, 'randomBytes' | 'monotonicMs' | 'sleep'>;
  readonly secretKeys: SecretKeys;
  /** Whether contents that are in clear are encrypted too. */
  readonly encryptsContents: boolean;
  onProgress?(progress: Progress): void;
}

export interface Progress {
  readonly table: 'contents' | 'secrets';
  /** Rows looked at by this run. */
  readonly rows: number;
  /** Of the whole table, estimated. */
  readonly ofAbout: number;
}

export interface Reencrypted {
  /** Rows encrypted under the current key by this run. */
  readonly reencrypted: number;
  /** Ids of rows that no key at hand opens; the first ten. */
  readonly unreadable: readonly string[];
}

/** Rows looked at together. Smaller is more round trips, larger holds more rows locked for a moment. */
const ROWS_PER_STEP = 200;
/** Of contents read together; a row that is larger comes alone. */
const BYTES_PER_STEP = 8_000_000;
/** Of a row that is older than sizes. */
const BYTES_UNKNOWN = 1_000_000;
/** Of each step's time: the database serves mail meanwhile. */
const REST_SHARE = 0.5;
const UNREADABLE_NAMED_MAX = 10;
const PROGRESS_EVERY_MS = 5_000;

/** Where an interrupted run goes on. It belongs to this command alone, and ends with it. */
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

/** Erased or expired meanwhile: it stays so. */
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
 * Encrypts the vault under the current key, step by step beside a running service: what opens with either key is sealed
 * anew, contents in clear too where they are to be encrypted. It may be ended at any time and goes on where it stopped.
 * The row that lets a process start is the last, so that the previous key is asked for until all others are done.
 */
export const reencrypt = async (options: ReencryptOptions): Promise<Reencrypted> => {
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

  /** Runs steps until one finds nothing. A step answers how many rows it looked at. */
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

  /** The column as it is to be; null: it stays. */
  const resealedPart = async (box: SecretBox, id: string, part: Part, stored: string): Promise<string | null> => {
    if (!stored.startsWith('"')) return encryptsContents ? sealContents(box, id, part, stored) : null;
    const sealed = stored.slice(1, -1);
    if (box.isCurrent(Buffer.from(sealed.slice(0, 32), 'base64'))) return null;
    return sealContents(box, id, part, await openContents(box, id, part, sealed));
  };

  const resealedContents = ({ id, head, body }: ContentsRow) =>
    orUnreadable(id, async () => {
      // Both were written together: the body's state is the head's.
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
    // A run to another key has sealed rows behind the place where a run to this one stopped.
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
      // What did not open is looked at again by the next run, which may have its key.
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
  // Another run begins anew: what did not open may do so then, under another PREVIOUS_SECRET_KEY.
  await pool.query('drop table if exists vault.reencryption');
  return { reencrypted, unreadable };
};
