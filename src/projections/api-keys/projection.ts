import { type ApiKey, apiKey } from '../../domain/api-key/api-key.ts';
import type { ApiKeyEvent } from '../../domain/events.ts';
import { asRecords } from '../database.ts';
import { existing, type Folded, foldInto, storedStates } from '../folded.ts';
import { defineProjection } from '../projection.ts';

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

export const apiKeysProjection = defineProjection<ApiKeyEvent, Folded<ApiKey>>({
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
