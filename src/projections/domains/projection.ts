import type { SendingDomainEvent } from '../../domain/events.ts';
import { type SendingDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { asRecords } from '../database.ts';
import { existing, type Folded, foldInto, storedStates } from '../folded.ts';
import { defineProjection } from '../projection.ts';

const SELECT = 'select domain_id as id, state from domains where domain_id = any($1)';

const UPSERT = `
  insert into domains (domain_id, organization_id, created_at, state)
  select "domainId", "organizationId", "createdAt", state
  from json_to_recordset($1) as d("domainId" text, "organizationId" text, "createdAt" timestamptz, state json)
  on conflict (domain_id) do update set created_at = excluded.created_at, state = excluded.state`;

const fold = foldInto(sendingDomain);

export const domainsProjection = defineProjection<SendingDomainEvent, Folded<SendingDomain>>({
  name: 'domains',
  version: 2,
  categories: [sendingDomain.category],
  tables: ['domains'],
  handlers: {
    DomainRegistered: fold,
    DomainVerified: fold,
    DomainDegraded: fold,
    DomainFailed: fold,
    DkimKeysAdded: fold,
    DkimKeysActivated: fold,
    DkimKeysDestroyed: fold,
    DomainDeleted: fold,
  },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, domains) => {
    await db.query(UPSERT, asRecords(existing(domains).map((state) => ({ ...state, state }))));
  },
});
