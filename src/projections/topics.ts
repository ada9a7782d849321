import { type ExistingTopic, topic } from '../domain/topic/topic.ts';
import type { Database, ListPage } from '../lib/projections/projections.ts';
import { defineStates, type ListRequest, listStates } from './states.ts';

export const topicsProjection = defineStates({
  name: 'topics',
  version: 1,
  aggregate: topic,
  table: 'topics',
  columns: { topic_id: 'text', organization_id: 'text', status: 'text', created_at: 'timestamptz' },
});

export interface ListTopics extends ListRequest {
  /** Those that mail of this domain can be about; null: all. */
  readonly domainId: string | null;
}

const list = listStates<ExistingTopic>({
  table: 'topics',
  id: 'topic_id',
  where: `($5::text is null or coalesce(state->>'domainId', $5) = $5) and (status <> 'deleted' or $6)`,
});

/** Topics of an organization that are not deleted, newest first. */
export const listTopics = (
  db: Database,
  { domainId, withDeleted = false, ...page }: ListTopics,
): Promise<ListPage<ExistingTopic>> => list(db, page, [domainId, withDeleted]);
