import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { z } from 'zod';
import { hmacSha256 } from '../../domain/kernel/digest.ts';
import { type Secrets, WrongSecretKey } from '../../domain/ports/secrets.ts';
import { TRACKING_KEY_ID_BYTES, type TrackingKey, type TrackingKeys } from '../../domain/tracking/tracking.ts';
import {
  atMost,
  atOnce,
  createBatcher,
  fulfilled,
  type Pausing,
  StartRefused,
  type System,
} from '../../lib/async/async.ts';
import { orUnavailable } from '../../lib/postgres/postgres.ts';

/** Layout: version (1 byte), key id (8), nonce (12), tag (16), ciphertext. Version 1 had no key id. */
const VERSION = 2;
const VERSION_WITHOUT_KEY_ID = 1;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';
/** Plaintext processed between two pauses: a millisecond. Less costs turns, more delays the event loop. */
const SLICE_CHARACTERS = 500_000;

/** `SECRET_KEY`, which seals, and another one that also opens while the key is rotated. */
export interface SecretKeys {
  readonly current: string;
  readonly previous?: string | undefined;
}

export interface SecretBox {
  /** @param id of the row, authenticated: a value sealed for one row does not open for another. */
  seal(id: string, plaintext: string): Buffer;
  /** @throws {WrongSecretKey} if it was sealed under an unavailable key or another id, or has changed since. */
  open(id: string, sealed: Buffer): string;
  /** The same for megabytes, with pauses. */
  sealing(id: string, plaintext: string): Pausing<Buffer>;
  opening(id: string, sealed: Buffer): Pausing<string>;
  /** True if it is sealed under `current`. */
  isCurrent(sealed: Buffer): boolean;
  /** Identifies `current` without revealing anything about it. */
  readonly keyId: string;
}

interface Key {
  readonly id: Buffer;
  readonly bytes: Buffer;
}

const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/** Splits text into slices without cutting a character. */
const slicesOf = function* (text: string): Generator<string> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + SLICE_CHARACTERS;
    const slice = text.slice(from, to);
    if (to < text.length && HIGH_SURROGATE.test(slice.slice(-1))) to -= 1;
    yield text.slice(from, to);
  }
};

/** HKDF-SHA256 (RFC 5869). @param info purpose of the bytes. */
const derived = (secretKey: string, info: string, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, '', info, length));

/**
 * AES-256-GCM under keys derived from `SECRET_KEY`, one for each row, so that random nonces never repeat however many
 * rows there are. A sealed value has the id of its key, so that a key can be rotated while rows of both are read.
 * @param purpose keys of one purpose do not open values sealed for another.
 */
export const createSecretBox = (
  secretKeys: SecretKeys,
  purpose: 'vault.secrets' | 'vault.contents',
  system: Pick<System, 'randomBytes'>,
): SecretBox => {
  const keyOf = (secretKey: string): Key => ({
    id: derived(secretKey, 'outbox key id', KEY_ID_BYTES),
    bytes: derived(secretKey, `outbox ${purpose} v1`, KEY_BYTES),
  });
  const current = keyOf(secretKeys.current);
  const keys = secretKeys.previous === undefined ? [current] : [current, keyOf(secretKeys.previous)];

  const rowKey = ({ bytes }: Key, id: string): Buffer => hmacSha256(bytes, id);

  const decrypt = function* (key: Buffer, id: string, box: Buffer): Pausing<string> {
    const nonce = box.subarray(0, NONCE_BYTES);
    const tag = box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(id));
    decipher.setAuthTag(tag);
    const texts: string[] = [];
    for (let from = NONCE_BYTES + TAG_BYTES; from < box.length; from += SLICE_CHARACTERS) {
      if (texts.length > 0) yield;
      texts.push(decipher.update(box.subarray(from, from + SLICE_CHARACTERS), undefined, 'utf8'));
    }
    return texts.join('') + decipher.final('utf8');
  };

  const openWithoutKeyId = function* (id: string, box: Buffer): Pausing<string> {
    const problems: unknown[] = [];
    for (const { bytes } of keys) {
      try {
        return yield* decrypt(bytes, id, box);
      } catch (error) {
        problems.push(error);
      }
    }
    throw new AggregateError(problems, 'no key opens it');
  };

  const idIn = (sealed: Buffer): Buffer => sealed.subarray(1, 1 + KEY_ID_BYTES);

  const openAny = function* (id: string, sealed: Buffer): Pausing<string> {
    if (sealed[0] === VERSION_WITHOUT_KEY_ID) return yield* openWithoutKeyId(id, sealed.subarray(1));
    if (sealed[0] !== VERSION) throw new Error(`layout ${sealed[0]}`);
    const key = keys.find((one) => one.id.equals(idIn(sealed)));
    if (key === undefined) throw new Error(`it is sealed under key ${idIn(sealed).toString('hex')}`);
    return yield* decrypt(rowKey(key, id), id, sealed.subarray(1 + KEY_ID_BYTES));
  };

  const seal = function* (id: string, plaintext: string): Pausing<Buffer> {
    const nonce = system.randomBytes(NONCE_BYTES);
    const key = rowKey(current, id);
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(id));
    const ciphertext: Buffer[] = [];
    for (const slice of slicesOf(plaintext)) {
      if (ciphertext.length > 0) yield;
      ciphertext.push(cipher.update(slice, 'utf8'));
    }
    if (ciphertext.length > 1) yield;
    ciphertext.push(cipher.final());
    return Buffer.concat([Uint8Array.of(VERSION), current.id, nonce, cipher.getAuthTag(), ...ciphertext]);
  };

  const open = function* (id: string, sealed: Buffer): Pausing<string> {
    try {
      return yield* openAny(id, sealed);
    } catch (error) {
      throw new WrongSecretKey(`${id} does not open with this SECRET_KEY`, { cause: error });
    }
  };

  return {
    seal: (id, plaintext) => atOnce(seal(id, plaintext)),
    open: (id, sealed) => atOnce(open(id, sealed)),
    sealing: seal,
    opening: open,
    isCurrent: (sealed) => sealed[0] === VERSION && idIn(sealed).equals(current.id),
    keyId: current.id.toString('hex'),
  };
};

/** An otherwise unused row, stored at the very first start. It opens only if the key is still the same. */
export const CANARY = 'secret-key-check';

/**
 * Checks at the start, not at the first delivery, that this process can open stored secrets.
 * @throws {StartRefused} if `SECRET_KEY` is not the one that the secrets were stored under.
 */
export const checkSecretKey = async (secrets: Secrets): Promise<void> => {
  try {
    await secrets.put(CANARY, '', 'the key is right');
    await secrets.get(CANARY);
  } catch (error) {
    if (!(error instanceof WrongSecretKey)) throw error;
    throw new StartRefused(
      'the secrets in the database were encrypted with a different SECRET_KEY: set that one (with the built-in database: the content of the file secret-key in DATA_DIR), or set it as PREVIOUS_SECRET_KEY while you rotate keys',
    );
  }
};

const FILE = 'secret-key';

const read = async (path: string): Promise<string | undefined> => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new StartRefused(`${path} cannot be read (${code}): let this user read it, or set SECRET_KEY`);
  }
};

/** Written to disk completely before it gets its name. Of two racing starts, one key wins. */
const make = async (path: string, system: System): Promise<void> => {
  const partial = `${path}.${system.uuid()}`;
  try {
    const key = Buffer.from(system.randomBytes(KEY_BYTES)).toString('base64url');
    await writeFile(partial, `${key}\n`, { flag: 'wx', mode: 0o600, flush: true });
    await link(partial, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST')
      throw new StartRefused(`${path} cannot be written (${code}): make DATA_DIR writable, or set SECRET_KEY`);
  } finally {
    await rm(partial, { force: true });
  }
};

/**
 * `SECRET_KEY` of a service that has none configured. It is made once in `DATA_DIR`, which must exist, and read from
 * there ever after.
 * @throws {StartRefused} if it can be neither read nor written.
 */
export const loadOrMakeSecretKey = async (dataDir: string, system: System): Promise<string> => {
  const path = join(dataDir, FILE);
  const found = await read(path);
  if (found !== undefined && found !== '') return found;
  if (found === '') throw new StartRefused(`${path} is empty: restore it from a backup, or set SECRET_KEY`);
  await make(path, system);
  return (await read(path)) ?? '';
};

interface PostgresSecretsOptions {
  readonly pool: Pool;
  readonly system: System;
  readonly secretKeys: SecretKeys;
}

/**
 * Secrets never change, so they are cached once read: an organization's is needed for every send, an endpoint's for
 * every post. At most 2 kB each. With fewer, every use of the others is a query.
 */
const KEPT_MAX = 10_000;

const PUT = {
  name: 'secrets-put',
  text: 'insert into vault.secrets (id, organization_id, ciphertext) values ($1, $2, $3) on conflict (id) do nothing',
};

const GET = { name: 'secrets-get', text: 'select id, ciphertext from vault.secrets where id = any($1)' };

/** Ids in one query. Each secret has at most 2 kB. */
const IDS_PER_QUERY = 256;
/**
 * Concurrent queries, in a pool shared by requests and deliveries: first reads of the secrets of hundreds of endpoints
 * must not take all of its connections.
 */
const QUERIES_MAX = 2;
/** Rejected callers get 503, or retry. */
const WAITING_CALLERS_MAX = 10_000;

const DESTROY = { name: 'secrets-destroy', text: 'delete from vault.secrets where id = any($1)' };

/**
 * Secrets in PostgreSQL, encrypted: the database without `SECRET_KEY` reveals none of them. While queries run, reads
 * that arrive in the meantime are collected for the next one.
 */
export const createPostgresSecrets = ({ pool, system, secretKeys }: PostgresSecretsOptions): Secrets => {
  const box = createSecretBox(secretKeys, 'vault.secrets', system);
  const kept = new Map<string, string>();
  /** Reads in progress, by id. Concurrent reads of the same secret share the answer, and a connection. */
  const reading = new Map<string, Promise<string | undefined>>();

  const reads = createBatcher<string, Buffer | undefined>({
    name: "the vault's secrets",
    inFlightMax: QUERIES_MAX,
    waitingMax: WAITING_CALLERS_MAX,
    admission: atMost(IDS_PER_QUERY),
    run: async (ids) => {
      const { rows } = await orUnavailable(
        pool.query<{ id: string; ciphertext: Buffer }>({ ...GET, values: [[...new Set(ids)]] }),
      );
      const found = new Map(rows.map(({ id, ciphertext }) => [id, ciphertext]));
      return fulfilled(ids.map((id) => found.get(id)));
    },
  });

  const keep = (id: string, plaintext: string): void => {
    const oldest = kept.size < KEPT_MAX ? undefined : kept.keys().next().value;
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(id, plaintext);
  };

  const read = async (id: string): Promise<string | undefined> => {
    const ciphertext = await reads.add(id);
    return ciphertext === undefined ? undefined : box.open(id, ciphertext);
  };

  const readShared = async (id: string): Promise<string | undefined> => {
    const underWay = reading.get(id);
    if (underWay !== undefined) return underWay;
    const begun = read(id);
    reading.set(id, begun);
    try {
      const plaintext = await begun;
      // A secret that was destroyed during the read is no longer in progress, and is not cached.
      if (plaintext !== undefined && reading.get(id) === begun) keep(id, plaintext);
      return plaintext;
    } finally {
      if (reading.get(id) === begun) reading.delete(id);
    }
  };

  return {
    put: async (id, organizationId, plaintext) => {
      await orUnavailable(pool.query({ ...PUT, values: [id, organizationId, box.seal(id, plaintext)] }));
    },

    get: async (id) => kept.get(id) ?? readShared(id),

    destroy: async (ids) => {
      await orUnavailable(pool.query({ ...DESTROY, values: [ids] }));
      for (const id of ids) {
        kept.delete(id);
        reading.delete(id);
      }
    },
  };
};

/**
 * Keys that must outlive a `SECRET_KEY`: those of tracked links and of events in the log. Each `SECRET_KEY` yields one for
 * each purpose, with an id of its own. The vault also holds, encrypted, the keys derived from earlier ones, so that links in
 * old mail still work and old events still verify. All are read when a process starts; redirects need no database.
 */

/** Rotations after which links still work and events still verify. */
const KEYS_MAX = 100;

const ring = z.array(z.object({ id: z.string(), bytes: z.string() }));

/** Purpose of a key ring. */
interface KeyPurpose {
  readonly row: 'tracking-keys' | 'event-keys';
  readonly info: 'outbox tracking' | 'outbox events';
}

const TRACKING: KeyPurpose = { row: 'tracking-keys', info: 'outbox tracking' };
const EVENTS: KeyPurpose = { row: 'event-keys', info: 'outbox events' };

const keyOf = ({ info }: KeyPurpose, secretKey: string): TrackingKey => ({
  id: derived(secretKey, `${info} key id`, TRACKING_KEY_ID_BYTES),
  bytes: derived(secretKey, `${info} v1`, KEY_BYTES),
});

const textOf = ({ id, bytes }: TrackingKey): z.infer<typeof ring>[number] => ({
  id: Buffer.from(id).toString('base64'),
  bytes: Buffer.from(bytes).toString('base64'),
});

/** A row of the vault: the key derived from one `SECRET_KEY`, and those before it. */
const rowOf = ({ row }: KeyPurpose, { id }: TrackingKey): string => `${row}-${Buffer.from(id).toString('hex')}`;

const stored = async (secrets: Pick<Secrets, 'get'>, row: string): Promise<readonly TrackingKey[]> => {
  const text = await secrets.get(row);
  if (text === undefined) return [];
  return ring
    .parse(JSON.parse(text))
    .map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64'), bytes: Buffer.from(bytes, 'base64') }));
};

/** Key ids are short. Two keys may share one, and both are tried. */
const withoutRepeats = (keys: readonly TrackingKey[]): readonly TrackingKey[] => [
  ...new Map(keys.map((key) => [Buffer.from(key.bytes).toString('base64'), key])).values(),
];

type KeyRing = readonly [TrackingKey, ...TrackingKey[]];

/** The keys of this process, the current one first. While `SECRET_KEY` is rotated, those of both are accepted. */
const openKeys = async (
  purpose: KeyPurpose,
  secrets: Pick<Secrets, 'get' | 'put'>,
  { current, previous }: SecretKeys,
): Promise<KeyRing> => {
  const key = keyOf(purpose, current);
  const other = previous === undefined ? [] : [keyOf(purpose, previous)];
  const earlier = (await Promise.all(other.map((one) => stored(secrets, rowOf(purpose, one))))).flat();
  const known = await stored(secrets, rowOf(purpose, key));
  if (known.length === 0) {
    const all = withoutRepeats([key, ...other, ...earlier]).slice(0, KEYS_MAX);
    await secrets.put(rowOf(purpose, key), '', JSON.stringify(all.map(textOf)));
  }
  return [key, ...withoutRepeats([key, ...known, ...other, ...earlier]).slice(1)];
};

/** Keys of tracked links. */
export const openTrackingKeys = (
  secrets: Pick<Secrets, 'get' | 'put'>,
  secretKeys: SecretKeys,
): Promise<TrackingKeys> => openKeys(TRACKING, secrets, secretKeys);

/** Keys of the events in the log (`EventMacs`). */
export const openEventKeys = async (
  secrets: Pick<Secrets, 'get' | 'put'>,
  secretKeys: SecretKeys,
): Promise<readonly [Uint8Array, ...Uint8Array[]]> => {
  const [current, ...earlier] = await openKeys(EVENTS, secrets, secretKeys);
  return [current.bytes, ...earlier.map(({ bytes }) => bytes)];
};
