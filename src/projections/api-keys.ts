import { type ApiKey, apiKey, type ExistingApiKey } from '../domain/api-key/api-key.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import type { ApiKeyEvent } from '../domain/kernel/events.ts';
import { asRecords, type Database, type ListPage, type ListRequest, listStates } from './database.ts';
import { defineProjection, existing, foldInto, type StatesById, storedStates } from './projection.ts';

const SELECT = 'select key_id as id, state from api_keys where key_id = any($1)';

const UPSERT = `
  insert into api_keys
    (key_id, organization_id, environment, status, permissions, expires_at, expiry_noted, created_at, state)
  select "keyId", "organizationId", environment, status, permissions, "expiresAt", "expiryNoted", "createdAt", state
  from json_to_recordset($1) as k("keyId" text, "organizationId" text, environment text, status text,
    permissions text[], "expiresAt" timestamptz, "expiryNoted" boolean, "createdAt" timestamptz, state json)
  on conflict (key_id) do update set status = excluded.status, permissions = excluded.permissions,
    expires_at = excluded.expires_at, expiry_noted = excluded.expiry_noted, state = excluded.state`;

const fold = foldInto(apiKey);

export const apiKeysProjection = defineProjection<ApiKeyEvent, StatesById<ApiKey>>({
  name: 'api-keys',
  version: 3,
  categories: [apiKey.category],
  tables: ['api_keys'],
  handlers: {
    KeyCreated: fold,
    KeyUpdated: fold,
    KeyRotated: fold,
    KeyRevoked: fold,
    KeyExpired: fold,
    KeyDeleted: fold,
  },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, keys) => {
    await db.query(UPSERT, asRecords(existing(keys).map((state) => ({ ...state, state }))));
  },
});

export interface ListApiKeys extends ListRequest {
  /** null: both (a live key sees all keys, a test key only test keys). */
  readonly environment: Environment | null;
}

const LIST = `
  select state from read_models.api_keys
  where organization_id = $1 and ($2::timestamptz is null or (created_at, key_id) < ($2, $3::text))
    and ($5::text is null or environment = $5) and (status <> 'deleted' or $6)
  order by created_at desc, key_id desc
  limit $4`;

/** Keys of an organization, newest first. */
export const listApiKeys = (
  db: Database,
  { environment, withDeleted = false, ...page }: ListApiKeys,
): Promise<ListPage<ExistingApiKey>> =>
  listStates(db, { name: 'list-api-keys', text: LIST, values: [environment, withDeleted] }, page, ({ keyId }) => keyId);

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
