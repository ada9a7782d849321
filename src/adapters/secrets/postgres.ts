import type { Pool } from 'pg';
import type { Secrets } from '../../domain/secrets.ts';
import type { System } from '../../domain/system.ts';
import { orUnavailable } from '../postgres/faults.ts';
import { createSecretBox } from './secret-box.ts';

export interface PostgresSecretsOptions {
  readonly pool: Pool;
  readonly system: System;
  /** The configuration's `SECRET_KEY`. */
  readonly secretKey: string;
}

/**
 * Secrets never change, so they are kept once read: an organization's is needed for every send, an endpoint's for every
 * post. At most 2 kB each; with fewer, every use of the others is a query.
 */
const KEPT_MAX = 10_000;

const PUT = {
  name: 'secrets-put',
  text: 'insert into vault.secrets (id, organization_id, ciphertext) values ($1, $2, $3) on conflict (id) do nothing',
};

const GET = { name: 'secrets-get', text: 'select ciphertext from vault.secrets where id = $1' };

const DESTROY = { name: 'secrets-destroy', text: 'delete from vault.secrets where id = any($1)' };

/** Secrets in PostgreSQL, encrypted; whoever has the database without `SECRET_KEY` has none of them. */
export const createPostgresSecrets = ({ pool, system, secretKey }: PostgresSecretsOptions): Secrets => {
  const box = createSecretBox(secretKey, system);
  const kept = new Map<string, string>();

  const keep = (id: string, plaintext: string): void => {
    const oldest = kept.size < KEPT_MAX ? undefined : kept.keys().next().value;
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(id, plaintext);
  };

  return {
    put: async (id, organizationId, plaintext) => {
      await orUnavailable(pool.query({ ...PUT, values: [id, organizationId, box.seal(id, plaintext)] }));
    },

    get: async (id) => {
      const known = kept.get(id);
      if (known !== undefined) return known;
      const { rows } = await orUnavailable(pool.query<{ ciphertext: Buffer }>({ ...GET, values: [id] }));
      if (rows[0] === undefined) return undefined;
      const plaintext = box.open(id, rows[0].ciphertext);
      keep(id, plaintext);
      return plaintext;
    },

    destroy: async (ids) => {
      await orUnavailable(pool.query({ ...DESTROY, values: [ids] }));
      for (const id of ids) kept.delete(id);
    },
  };
};
