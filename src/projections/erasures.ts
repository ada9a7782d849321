import { type Erasure, type ErasureEvent, type ExistingErasure, erasure } from '../domain/erasure/erasure.ts';
import { idOf, type RecordedEvent } from '../domain/kernel/event-store.ts';
import { asRecords, type Database, type ListPage, type ListRequest, listStates } from './database.ts';
import { defineProjection, existing, type StatesById, storedStates } from './projection.ts';

const SELECT = 'select erasure_id as id, state from erasures where erasure_id = any($1)';

const UPSERT = `
  insert into erasures (erasure_id, organization_id, status, created_at, state)
  select "erasureId", "organizationId", status, "createdAt", state
  from json_to_recordset($1) as e("erasureId" text, "organizationId" text, status text, "createdAt" timestamptz,
    state json)
  on conflict (erasure_id) do update set status = excluded.status, state = excluded.state`;

/** The certificate names the position. */
const fold = (states: StatesById<Erasure>, event: RecordedEvent<ErasureEvent>): void => {
  const id = idOf(event.stream);
  states.set(id, erasure.evolve(states.get(id) ?? erasure.initial, event, event.metadata, event.position));
};

export const erasuresProjection = defineProjection<ErasureEvent, StatesById<Erasure>>({
  name: 'erasures',
  version: 1,
  categories: [erasure.category],
  tables: ['erasures'],
  handlers: { ErasureRequested: fold, PersonErased: fold },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, erasures) => {
    await db.query(UPSERT, asRecords(existing(erasures).map((state) => ({ ...state, state }))));
  },
});

const LIST = `
  select state from read_models.erasures
  where organization_id = $1 and ($2::timestamptz is null or (created_at, erasure_id) < ($2, $3::text))
  order by created_at desc, erasure_id desc
  limit $4`;

/** Erasures of an organization, newest first. */
export const listErasures = (db: Database, page: ListRequest): Promise<ListPage<ExistingErasure>> =>
  listStates(db, { name: 'list-erasures', text: LIST, values: [] }, page, ({ erasureId }) => erasureId);

export interface UnfinishedErasures {
  /** Id of the last one of the page before; empty: from the start. */
  readonly after: string;
  readonly limit: number;
}

const UNFINISHED = `
  select e.state from read_models.erasures e left join vault.erasures v using (erasure_id)
  where e.erasure_id > $1 and (e.status <> 'completed' or v.done_at is null)
  order by e.erasure_id
  limit $2`;

/** Erasures that run, and those that this vault, restored from before them, does not know to be done. */
export const unfinishedErasures = async (
  db: Database,
  { after, limit }: UnfinishedErasures,
): Promise<readonly ExistingErasure[]> =>
  (
    await db.query<{ state: ExistingErasure }>({
      name: 'unfinished-erasures',
      text: UNFINISHED,
      values: [after, limit],
    })
  ).rows.map(({ state }) => state);
