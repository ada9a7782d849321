import { type ExistingTemplate, template } from '../domain/template/template.ts';
import type { Database, ListPage } from '../lib/projections/projections.ts';
import { defineStates, type ListRequest, listStates } from './states.ts';

export const templatesProjection = defineStates({
  name: 'templates',
  version: 1,
  aggregate: template,
  table: 'templates',
  columns: { template_id: 'text', organization_id: 'text', status: 'text', created_at: 'timestamptz' },
});

const list = listStates<ExistingTemplate>({
  table: 'templates',
  id: 'template_id',
  where: `(status <> 'deleted' or $5)`,
});

/** Templates of an organization that are not deleted, newest first. */
export const listTemplates = (
  db: Database,
  { withDeleted = false, ...page }: ListRequest,
): Promise<ListPage<ExistingTemplate>> => list(db, page, [withDeleted]);
