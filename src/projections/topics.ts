import { type ExistingTopic, type Topic, type TopicEvent, topic } from '../domain/topic/topic.ts';
import { asRecords, type Database, type ListPage, type ListRequest, listStates } from './database.ts';
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

export interface ListTopics extends ListRequest {
  /** Those that mail of this domain can be about; null: all. */
  readonly domainId: string | null;
}

const LIST = `
  select state from read_models.topics
  where organization_id = $1 and ($2::timestamptz is null or (created_at, topic_id) < ($2, $3::text))
    and ($5::text is null or coalesce(state->>'domainId', $5) = $5) and (status <> 'deleted' or $6)
  order by created_at desc, topic_id desc
  limit $4`;

/** Topics of an organization that are not deleted, newest first. */
export const listTopics = (
  db: Database,
  { domainId, withDeleted = false, ...page }: ListTopics,
): Promise<ListPage<ExistingTopic>> =>
  listStates(db, { name: 'list-topics', text: LIST, values: [domainId, withDeleted] }, page, ({ topicId }) => topicId);
