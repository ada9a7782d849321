import { type ExistingTemplate, type Template, type TemplateEvent, template } from '../domain/template/template.ts';
import { asRecords, type Database, type ListPage, type ListRequest, listStates } from './database.ts';
import { defineProjection, existing, foldInto, type StatesById, storedStates } from './projection.ts';

/** Templates as their streams fold them, for lists. */

const SELECT = 'select template_id as id, state from templates where template_id = any($1)';

const UPSERT = `
  insert into templates (template_id, organization_id, status, created_at, state)
  select "templateId", "organizationId", status, "createdAt", state
  from json_to_recordset($1) as t("templateId" text, "organizationId" text, status text, "createdAt" timestamptz,
    state json)
  on conflict (template_id) do update
    set status = excluded.status, created_at = excluded.created_at, state = excluded.state`;

const fold = foldInto(template);

export const templatesProjection = defineProjection<TemplateEvent, StatesById<Template>>({
  name: 'templates',
  version: 1,
  categories: [template.category],
  tables: ['templates'],
  handlers: {
    TemplateCreated: fold,
    TemplateDraftChanged: fold,
    TemplatePublished: fold,
    TemplateRolledBack: fold,
    TemplateDeleted: fold,
  },
  begin: (db, events) => storedStates(db, SELECT, events),
  write: async (db, templates) => {
    await db.query(UPSERT, asRecords(existing(templates).map((state) => ({ ...state, state }))));
  },
});

const LIST = `
  select state from read_models.templates
  where organization_id = $1 and ($2::timestamptz is null or (created_at, template_id) < ($2, $3::text))
    and (status <> 'deleted' or $5)
  order by created_at desc, template_id desc
  limit $4`;

/** Templates of an organization that are not deleted, newest first. */
export const listTemplates = (
  db: Database,
  { withDeleted = false, ...page }: ListRequest,
): Promise<ListPage<ExistingTemplate>> =>
  listStates(db, { name: 'list-templates', text: LIST, values: [withDeleted] }, page, ({ templateId }) => templateId);
