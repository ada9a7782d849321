import type { Pool } from 'pg';
import { z } from 'zod';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { TRACKING_KEY_ID_BYTES, type TrackingKey, type TrackingKeys } from '../../domain/tracking/tracking.ts';
import { atMost, createBatcher, fulfilled, type System } from '../../lib/async/async.ts';
import { orUnavailable } from '../../lib/postgres/postgres.ts';
import { createSecretBox, derived, type SecretKeys } from './secret-box.ts';

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
 * Keys of tracked links. Each `SECRET_KEY` yields one, with an id of its own. Links live longer than a `SECRET_KEY`, so
 * the vault also holds the keys derived from earlier ones, and links in old mail still work. All are read when a
 * process starts; redirects need no database.
 */

const KEY_BYTES = 32;
/** Number of rotations that links survive. */
const KEYS_MAX = 100;

const ring = z.array(z.object({ id: z.string(), bytes: z.string() }));

const keyOf = (secretKey: string): TrackingKey => ({
  id: derived(secretKey, 'outbox tracking key id', TRACKING_KEY_ID_BYTES),
  bytes: derived(secretKey, 'outbox tracking v1', KEY_BYTES),
});

const textOf = ({ id, bytes }: TrackingKey): z.infer<typeof ring>[number] => ({
  id: Buffer.from(id).toString('base64'),
  bytes: Buffer.from(bytes).toString('base64'),
});

/** A row of the vault: the key derived from one `SECRET_KEY`, and those before it. */
const rowOf = ({ id }: TrackingKey): string => `tracking-keys-${Buffer.from(id).toString('hex')}`;

const stored = async (secrets: Pick<Secrets, 'get'>, key: TrackingKey): Promise<readonly TrackingKey[]> => {
  const text = await secrets.get(rowOf(key));
  if (text === undefined) return [];
  return ring
    .parse(JSON.parse(text))
    .map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64'), bytes: Buffer.from(bytes, 'base64') }));
};

/** Key ids are short. Two keys may share one, and both are tried. */
const withoutRepeats = (keys: readonly TrackingKey[]): readonly TrackingKey[] => [
  ...new Map(keys.map((key) => [Buffer.from(key.bytes).toString('base64'), key])).values(),
];

/** The keys of this process, the current one first. While `SECRET_KEY` is rotated, links of both keys are accepted. */
export const openTrackingKeys = async (
  secrets: Pick<Secrets, 'get' | 'put'>,
  { current, previous }: SecretKeys,
): Promise<TrackingKeys> => {
  const key = keyOf(current);
  const other = previous === undefined ? [] : [keyOf(previous)];
  const earlier = (await Promise.all(other.map((one) => stored(secrets, one)))).flat();
  const known = await stored(secrets, key);
  if (known.length === 0) {
    const all = withoutRepeats([key, ...other, ...earlier]).slice(0, KEYS_MAX);
    await secrets.put(rowOf(key), '', JSON.stringify(all.map(textOf)));
  }
  return [key, ...withoutRepeats([key, ...known, ...other, ...earlier]).slice(1)];
};
