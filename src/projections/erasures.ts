import { type ExistingErasure, erasure } from '../domain/erasure/erasure.ts';
import type { Database, ListPage } from '../lib/projections/projections.ts';
import { defineStates, type ListRequest, listStates } from './states.ts';

export const erasuresProjection = defineStates({
  name: 'erasures',
  version: 1,
  aggregate: erasure,
  table: 'erasures',
  columns: { erasure_id: 'text', organization_id: 'text', status: 'text', created_at: 'timestamptz' },
});

/** Erasures of an organization, newest first. */
export const listErasures: (db: Database, page: ListRequest) => Promise<ListPage<ExistingErasure>> = listStates({
  table: 'erasures',
  id: 'erasure_id',
  where: 'true',
});

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
