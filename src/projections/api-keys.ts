import { apiKey, type ExistingApiKey } from '../domain/api-key/api-key.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import type { Database, ListPage } from '../lib/projections/projections.ts';
import { defineStates, type ListRequest, listStates } from './states.ts';

export const apiKeysProjection = defineStates({
  name: 'api-keys',
  version: 3,
  aggregate: apiKey,
  table: 'api_keys',
  columns: {
    key_id: 'text',
    organization_id: 'text',
    environment: 'text',
    status: 'text',
    permissions: 'text[]',
    expires_at: 'timestamptz',
    expiry_noted: 'boolean',
    created_at: 'timestamptz',
  },
});

export interface ListApiKeys extends ListRequest {
  /** null: both (a live key sees all keys, a test key only test keys). */
  readonly environment: Environment | null;
}

const list = listStates<ExistingApiKey>({
  table: 'api_keys',
  id: 'key_id',
  where: `($5::text is null or environment = $5) and (status <> 'deleted' or $6)`,
});

/** Keys of an organization, newest first. */
export const listApiKeys = (
  db: Database,
  { environment, withDeleted = false, ...page }: ListApiKeys,
): Promise<ListPage<ExistingApiKey>> => list(db, page, [environment, withDeleted]);

const EXPIRED = `
  select key_id as "keyId" from read_models.api_keys
  where status = 'active' and expires_at is not null and not expiry_noted and expires_at <= $1
  order by expires_at
  limit $2`;

/** Ids of keys that expired by `before` (ISO 8601) without a recorded expiry, oldest first. */
export const expiredKeys = async (
  db: Database,
  { before, limit }: { readonly before: string; readonly limit: number },
): Promise<readonly string[]> => {
  const { rows } = await db.query<{ keyId: string }>({ name: 'expired-keys', text: EXPIRED, values: [before, limit] });
  return rows.map(({ keyId }) => keyId);
};
