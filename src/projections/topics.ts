import { type ExistingTopic, type Topic, type TopicEvent, topic } from '../domain/topic/topic.ts';
import { asRecords, type Database, type ListCursor, type ListPage, pageOf, rowsToAsk } from './database.ts';
import { defineProjection, existing, foldInto, type StatesById, storedStates } from './projection.ts';

const SELECT = 'select topic_id as id, state from topics where topic_id = any($1)';

const UPSERT = `
  insert into topics (topic_id, organization_id, status, created_at, state)
  select "topicId", "organizationId", status, "createdAt", state
  from json_to_recordset($1) as t("topicId" text, "organizationId" text, status text, "createdAt" timestamptz,
    state json)
  on conflict (topic_id) do update set status = excluded.status, state = excluded.state`;

const fold = foldInto(topic);

export const topicsProjection = defineProjection<TopicEvent, StatesById<Topic>>({
  name: 'topics',
  version: 1,
  categories: [topic.category],
  tables: ['topics'],
  handlers: { TopicCreated: fold, TopicChanged: fold, TopicDeleted: fold },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, topics) => {
    await db.query(UPSERT, asRecords(existing(topics).map((state) => ({ ...state, state }))));
  },
});

export interface ListTopics {
  readonly organizationId: string;
  /** Those that mail of this domain can be about; null: all. */
  readonly domainId: string | null;
  readonly limit: number;
  readonly after: ListCursor | null;
  /** Whether those that are deleted now are among them. */
  readonly withDeleted?: boolean;
}

const LIST = `
  select state from read_models.topics
  where organization_id = $1 and (status <> 'deleted' or $6)
    and ($2::text is null or coalesce(state->>'domainId', $2) = $2)
    and ($3::timestamptz is null or (created_at, topic_id) < ($3, $4::text))
  order by created_at desc, topic_id desc
  limit $5`;

/** Topics of an organization that are not deleted, newest first. */
export const listTopics = async (
  db: Database,
  { organizationId, domainId, limit, after, withDeleted = false }: ListTopics,
): Promise<ListPage<ExistingTopic>> => {
  const values = [organizationId, domainId, after?.createdAt ?? null, after?.id ?? null, rowsToAsk(limit), withDeleted];
  const { rows } = await db.query<{ state: ExistingTopic }>({ name: 'list-topics', text: LIST, values });
  return pageOf(
    rows.map(({ state }) => state),
    limit,
    ({ createdAt, topicId }) => ({ createdAt, id: topicId }),
  );
};
