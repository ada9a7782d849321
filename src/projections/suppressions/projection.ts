import type { SuppressionEvent } from '../../domain/events.ts';
import { type ExistingSuppression, type Suppression, suppression } from '../../domain/suppression/suppression.ts';
import { asRecords } from '../database.ts';
import { existing, type Folded, foldInto, storedStates } from '../folded.ts';
import { defineProjection } from '../projection.ts';

const SELECT = 'select suppression_id as id, state from suppressions where suppression_id = any($1)';

const UPSERT = `
  insert into suppressions (suppression_id, organization_id, environment, added_at, reasons, scopes, expiries, state)
  select "suppressionId", "organizationId", environment, "addedAt", reasons, scopes, expiries, state
  from json_to_recordset($1) as s("suppressionId" text, "organizationId" text, environment text,
    "addedAt" timestamptz, reasons text[], scopes text[], expiries timestamptz[], state json)
  on conflict (suppression_id) do update set added_at = excluded.added_at, reasons = excluded.reasons,
    scopes = excluded.scopes, expiries = excluded.expiries, state = excluded.state`;

const fold = foldInto(suppression);

const rowOf = (state: ExistingSuppression): object => {
  const standing = state.entries.filter(({ removedAt }) => removedAt === null);
  return {
    ...state,
    reasons: standing.map(({ reason }) => reason),
    scopes: standing.map(({ scope }) => scope),
    expiries: standing.map(({ expiresAt }) => expiresAt),
    state,
  };
};

export const suppressionsProjection = defineProjection<SuppressionEvent, Folded<Suppression>>({
  name: 'suppressions',
  version: 1,
  categories: [suppression.category],
  tables: ['suppressions'],
  handlers: { SuppressionAdded: fold, SuppressionRemoved: fold },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, suppressions) => {
    await db.query(UPSERT, asRecords(existing(suppressions).map(rowOf)));
  },
});
