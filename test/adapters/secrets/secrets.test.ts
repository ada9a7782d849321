import { createCipheriv, hkdfSync } from 'node:crypto';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkSecretKey, createPostgresSecrets, loadOrMakeSecretKey } from '../../../src/adapters/secrets/postgres.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { type Secrets, WrongSecretKey } from '../../../src/domain/ports/secrets.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { openMigratedPool } from '../../support/postgres.ts';

const system = createSystem();
let pool: Pool;
beforeAll(async () => {
  const opened = await openMigratedPool();
  pool = opened.pool;
  return opened.close;
});

const KEY = 'a key of at least thirty-two characters';
const inPostgres = (secretKey = KEY, previous?: string) =>
  createPostgresSecrets({ pool, system, secretKeys: { current: secretKey, previous } });
const folder = async (): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'outbox-secret-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
};

const ADAPTERS: readonly (readonly [string, () => Secrets])[] = [
  ['in memory', createInMemorySecrets],
  ['in PostgreSQL', inPostgres],
];

describe.each(ADAPTERS)('secrets %s', (_name, create) => {
  test('are returned unchanged, and keep their first value', async () => {
    const secrets = create();
    await secrets.put('one', 'org_a', 'whsec_ünï 👩‍👧');
    await secrets.put('one', 'org_a', 'another');
    await secrets.put('empty', 'org_a', '');
    expect(await secrets.get('one')).toBe('whsec_ünï 👩‍👧');
    expect(await secrets.get('one')).toBe('whsec_ünï 👩‍👧');
    expect(await secrets.get('empty')).toBe('');
    expect(await secrets.get('none')).toBeUndefined();
  });

  test('are gone once they are destroyed, and the others are not', async () => {
    const secrets = create();
    for (const id of ['old', 'older', 'new']) await secrets.put(id, 'org_a', 'plain');
    await secrets.get('old');
    await secrets.destroy(['old', 'older', 'never there']);
    await secrets.destroy(['old']);
    await secrets.destroy([]);
    expect([await secrets.get('old'), await secrets.get('older')]).toEqual([undefined, undefined]);
    expect([await create().get('old'), await secrets.get('new')]).toEqual([undefined, 'plain']);
  });
});

describe('secrets in PostgreSQL', () => {
  test('cannot be read from the database', async () => {
    await inPostgres().put('hidden', 'org_a', 'whsec_plain');
    const { rows } = await pool.query<{ ciphertext: Buffer }>(
      `select ciphertext from vault.secrets where id = 'hidden'`,
    );
    expect(rows[0]?.ciphertext.includes('plain')).toBe(false);
    await inPostgres().put('hidden too', 'org_a', 'whsec_plain');
    const other = await pool.query<{ ciphertext: Buffer }>(
      `select ciphertext from vault.secrets where id = 'hidden too'`,
    );
    expect(other.rows[0]?.ciphertext).not.toEqual(rows[0]?.ciphertext);
  });

  test('are read from the database once', async () => {
    const secrets = inPostgres();
    await secrets.put('kept', 'org_a', 'plain');
    await secrets.get('kept');
    await pool.query(`delete from vault.secrets where id = 'kept'`);
    expect(await secrets.get('kept')).toBe('plain');
  });

  test('do not open with another key, under another id, or changed', async () => {
    await inPostgres().put('mine', 'org_a', 'plain');
    await expect(inPostgres('another key of thirty-two characters').get('mine')).rejects.toBeInstanceOf(WrongSecretKey);
    await pool.query(
      `insert into vault.secrets (id, ciphertext) select 'moved', ciphertext from vault.secrets where id = 'mine'`,
    );
    await expect(inPostgres().get('moved')).rejects.toBeInstanceOf(WrongSecretKey);
    await pool.query(`update vault.secrets set ciphertext = ciphertext || '\\x00' where id = 'mine'`);
    await expect(inPostgres().get('mine')).rejects.toBeInstanceOf(WrongSecretKey);
    await pool.query(`update vault.secrets set ciphertext = '\\x01' where id = 'mine'`);
    await expect(inPostgres().get('mine')).rejects.toBeInstanceOf(WrongSecretKey);
  });

  test('open under either key while it is rotated, and are sealed under the new one', async () => {
    const [old, next] = ['the old key of thirty-two characters', 'the new key of thirty-two characters'];
    await inPostgres(old).put('before', 'org_a', 'plain');
    const rotating = inPostgres(next, old);
    expect(await rotating.get('before')).toBe('plain');
    await rotating.put('after', 'org_a', 'plain too');
    expect(await inPostgres(next).get('after')).toBe('plain too');
    expect(await inPostgres(old, next).get('after')).toBe('plain too');
    await expect(inPostgres(next).get('before')).rejects.toBeInstanceOf(WrongSecretKey);
  });

  test('that were sealed before keys had ids open under either key', async () => {
    const sealed = (secretKey: string): Buffer => {
      const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'outbox vault.secrets v1', 32));
      const nonce = Buffer.alloc(12, 7);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(secretKey));
      const text = Buffer.concat([cipher.update('plain'), cipher.final()]);
      return Buffer.concat([Uint8Array.of(1), nonce, cipher.getAuthTag(), text]);
    };
    const keys = ['a key without an id, of thirty-two', 'another without an id, of thirty-two'];
    for (const key of keys)
      await pool.query('insert into vault.secrets (id, ciphertext) values ($1, $2)', [key, sealed(key)]);
    for (const id of keys) expect(await inPostgres(keys[0], keys[1]).get(id)).toBe('plain');
  });

  test('under another key refuse the start, with a sentence', async () => {
    await checkSecretKey(inPostgres());
    await checkSecretKey(inPostgres());
    await expect(checkSecretKey(inPostgres('another key of thirty-two characters'))).rejects.toThrow(
      /^the secrets in the database were encrypted with a different SECRET_KEY: set that one/,
    );
  });
});

describe('the secret key that a service generates', () => {
  test('is made once, readable by no other user, the same for concurrent starts', async () => {
    const dataDir = await folder();
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadOrMakeSecretKey(dataDir, system)));
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[\w-]{43}$/);
    expect(await loadOrMakeSecretKey(dataDir, system)).toBe(keys[0]);
    expect(await readdir(dataDir)).toEqual(['secret-key']);
    expect((await stat(join(dataDir, 'secret-key'))).mode & 0o777).toBe(0o600);
  });

  test('is not replaced if the file is empty, since what it encrypted would be lost', async () => {
    const dataDir = await folder();
    await writeFile(join(dataDir, 'secret-key'), '');
    await expect(loadOrMakeSecretKey(dataDir, system)).rejects.toThrow(/is empty: restore it from a backup/);
  });

  test('stops the start with a sentence if it cannot be written', async () => {
    await expect(loadOrMakeSecretKey(join(await folder(), 'none'), system)).rejects.toThrow(
      /secret-key cannot be written \(ENOENT\): make DATA_DIR writable, or set SECRET_KEY$/,
    );
  });
});

test('a secret that many callers request at once is read once', async () => {
  const secrets = inPostgres();
  await secrets.put('shared', 'org_a', 'of an endpoint with a backlog');
  const query = vi.spyOn(pool, 'query');
  const read = await Promise.all(Array.from({ length: 512 }, () => secrets.get('shared')));
  expect(new Set(read)).toEqual(new Set(['of an endpoint with a backlog']));
  expect(query).toHaveBeenCalledTimes(1);
});

test('a secret that is destroyed while it is being read is not kept', async () => {
  const secrets = inPostgres();
  await secrets.put('doomed', 'org_a', 'read before it was destroyed');
  await Promise.all([secrets.get('doomed'), secrets.destroy(['doomed'])]);
  expect(await secrets.get('doomed')).toBeUndefined();
});
