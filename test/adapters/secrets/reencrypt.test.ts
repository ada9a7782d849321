import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createContentsCodec } from '../../../src/adapters/contents/contents-codec.ts';
import { createPostgresContents } from '../../../src/adapters/contents/postgres.ts';
import { createPostgresRetention } from '../../../src/adapters/retention/postgres.ts';
import {
  checkSecretKey,
  createPostgresSecrets,
  createSecretBox,
  type SecretKeys,
} from '../../../src/adapters/secrets/postgres.ts';
import { type Progress, type ReencryptOptions, reencrypt } from '../../../src/adapters/secrets/reencrypt.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import type { MessageContents } from '../../../src/domain/ports/contents.ts';
import { migratedDatabase, type TestDatabase } from '../../support/postgres.ts';

const OLD = 'the old key of thirty-two characters';
const NEW = 'the new key of thirty-two characters';
const ROTATING = { current: NEW, previous: OLD };
const ROWS = 450;

const system = createSystem();
let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  database = await migratedDatabase();
  pool = new Pool({ connectionString: database.url, max: 4 });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const contentsUnder = (secretKeys: SecretKeys, encrypts: boolean) =>
  createPostgresContents({
    pool,
    codec: createContentsCodec({ box: createSecretBox(secretKeys, 'vault.contents', system), encrypts }),
  });
const secretsUnder = (secretKeys: SecretKeys) => createPostgresSecrets({ pool, system, secretKeys });

const replies = (count: number): readonly MessageContents[] =>
  Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    organizationId: 'org_a',
    body: { kind: 'reply', messageId: 'msg_a', text: `reply ${index}` },
  }));

const run = (more: Partial<ReencryptOptions> = {}) =>
  reencrypt({ pool, system, secretKeys: ROTATING, encryptsContents: false, ...more });

const countOf = async (condition: string): Promise<number> => {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int as count from vault.contents where ${condition}`,
  );
  return rows[0]?.count ?? 0;
};
const IN_CLEAR = `json_typeof(body) = 'object'`;

describe('encrypting the vault under a new key', () => {
  test('lets the previous one go', async () => {
    await checkSecretKey(secretsUnder({ current: OLD }));
    for (let index = 0; index < 5; index += 1) await secretsUnder({ current: OLD }).put(`s${index}`, 'org_a', 'plain');
    const put = replies(ROWS);
    await contentsUnder({ current: OLD }, true).put(put);
    await expect(checkSecretKey(secretsUnder({ current: NEW }))).rejects.toThrow(/SECRET_KEY/);

    const told: Progress[] = [];
    const { reencrypted, unreadable } = await run({ onProgress: (progress) => told.push(progress) });
    expect([reencrypted, unreadable]).toEqual([ROWS + 6, []]);
    expect(told.at(-1)).toMatchObject({ table: 'secrets', rows: 5 });
    expect(told.find(({ table, rows }) => table === 'contents' && rows === ROWS)).toBeDefined();

    const alone = { current: NEW };
    await checkSecretKey(secretsUnder(alone));
    expect(await secretsUnder(alone).get('s4')).toBe('plain');
    expect(await contentsUnder(alone, false).get(put.map(({ id }) => id))).toEqual(
      new Map(put.map(({ id, body }) => [id, body])),
    );
    expect((await run()).reencrypted).toBe(0);
  });

  test('resumes where it was interrupted', async () => {
    await contentsUnder({ current: OLD }, true).put(replies(ROWS));
    let steps = 0;
    const interrupted = run({
      system: {
        ...system,
        sleep: async () => {
          steps += 1;
          if (steps === 2) throw new Error('interrupted');
        },
      },
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    const told: Progress[] = [];
    expect((await run({ onProgress: (progress) => told.push(progress) })).reencrypted).toBe(ROWS - 400);
    expect(told[0]).toMatchObject({ table: 'contents', rows: ROWS - 400 });
  });

  test('encrypts plaintext if contents must be encrypted, and leaves it otherwise', async () => {
    const put = replies(ROWS);
    await contentsUnder({ current: OLD }, false).put(put);
    expect([(await run()).reencrypted, await countOf(IN_CLEAR)]).toEqual([0, ROWS]);
    expect([(await run({ encryptsContents: true })).reencrypted, await countOf(IN_CLEAR)]).toEqual([ROWS, 0]);
    expect((await contentsUnder({ current: NEW }, true).get(put.map(({ id }) => id))).size).toBe(ROWS);
  });

  test('does not bring back what is erased during the run', async () => {
    const put = replies(10);
    await contentsUnder({ current: OLD }, true).put(put);
    const erasing = {
      query: async (text: string, values: unknown[]) => {
        if (text.includes('update vault.contents')) await pool.query('delete from vault.contents');
        return pool.query(text, values);
      },
    } as unknown as Pool;
    expect((await run({ pool: erasing })).reencrypted).toBe(0);
    expect(await countOf('true')).toBe(0);
  });

  test('does not bring back what expires during the run', async () => {
    const put = replies(10);
    const ids = put.map(({ id }) => id);
    await contentsUnder({ current: OLD }, true).put(put);
    const retention = createPostgresRetention({ pool });
    const expiring = {
      query: async (text: string, values: unknown[]) => {
        if (text.includes('update vault.contents')) await retention.expire(ids, new Date(0));
        return pool.query(text, values);
      },
    } as unknown as Pool;
    await run({ pool: expiring });
    expect([await countOf(`kind = 'expired'`), await countOf(`kind = 'expired' and body ->> 'at' is null`)]).toEqual([
      10, 0,
    ]);
    expect([...(await contentsUnder({ current: NEW }, true).get(ids)).values()]).toEqual(
      ids.map(() => ({ kind: 'expired', at: '1970-01-01T00:00:00.000Z' })),
    );
  });

  test('names what no key opens, and then keeps the previous key', async () => {
    await checkSecretKey(secretsUnder({ current: OLD }));
    const [lost] = replies(1);
    await contentsUnder({ current: 'a key that is lost, of many characters' }, true).put(
      lost === undefined ? [] : [lost],
    );
    const { unreadable } = await run();
    expect(unreadable).toEqual([lost?.id]);
    await expect(checkSecretKey(secretsUnder({ current: NEW }))).rejects.toThrow(/SECRET_KEY/);
    expect((await run()).unreadable).toEqual([lost?.id]);
  });
});
