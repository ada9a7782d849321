import type { SendingDomainEvent } from '../domain/kernel/events.ts';
import {
  type ExistingSendingDomain,
  type SendingDomain,
  sendingDomain,
} from '../domain/sending-domain/sending-domain.ts';
import { asRecords, type Database, type ListPage, type ListRequest, listStates } from './database.ts';
import { defineProjection, existing, foldInto, type StatesById, storedStates } from './projection.ts';

const SELECT = 'select domain_id as id, state from domains where domain_id = any($1)';

const UPSERT = `
  insert into domains (domain_id, organization_id, created_at, state)
  select "domainId", "organizationId", "createdAt", state
  from json_to_recordset($1) as d("domainId" text, "organizationId" text, "createdAt" timestamptz, state json)
  on conflict (domain_id) do update set created_at = excluded.created_at, state = excluded.state`;

const fold = foldInto(sendingDomain);

export const domainsProjection = defineProjection<SendingDomainEvent, StatesById<SendingDomain>>({
  name: 'domains',
  version: 3,
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
    DomainBrandingChanged: fold,
    DomainTrackingChanged: fold,
    DomainDeleted: fold,
  },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, domains) => {
    await db.query(UPSERT, asRecords(existing(domains).map((state) => ({ ...state, state }))));
  },
});

export interface ListDomains extends ListRequest {
  /** The only visible domain of the key; null: all. */
  readonly domainId: string | null;
}

const LIST = `
  select state from read_models.domains
  where organization_id = $1 and ($2::timestamptz is null or (created_at, domain_id) < ($2, $3::text))
    and ($5::text is null or domain_id = $5) and (state->>'status' <> 'deleted' or $6)
  order by created_at desc, domain_id desc
  limit $4`;

/** Sending domains of an organization, newest first. */
export const listDomains = (
  db: Database,
  { domainId, withDeleted = false, ...page }: ListDomains,
): Promise<ListPage<ExistingSendingDomain>> =>
  listStates(
    db,
    { name: 'list-domains', text: LIST, values: [domainId, withDeleted] },
    page,
    ({ domainId }) => domainId,
  );
