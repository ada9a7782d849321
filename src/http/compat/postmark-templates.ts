import { z } from 'zod';
import { aliasOf } from '../../domain/template/template.ts';
import { mapConcurrently } from '../../lib/async/async.ts';
import { bodyOf } from '../bodies.ts';
import { endpoint } from '../endpoint.ts';
import { integerParameter } from '../fields.ts';
import type { SerializedTemplate, SerializedWholeTemplate } from '../resources/templates/template.ts';
import { hasContentPlace, type TemplateSources } from './placeholders.ts';
import { OFFSET_MAX } from './postmark-reads.ts';
import { pageByNumber, totalOf } from './suppressions.ts';
import {
  changePublished,
  contentOf,
  createPublished,
  isNumber,
  loadTemplate,
  numberAsAlias,
  sourcesOf,
} from './templates.ts';
import {
  type FieldRules,
  type Fields,
  type List,
  type PathNames,
  perform,
  refused,
  refuseField,
  requireFields,
  requireObject,
  textAs,
} from './translate.ts';

/** Templates of the npm package `postmark`, by our own operations. */

/** All parts of a template, with room for JSON's escapes, as for our own operations. */
const BOUNDS = bodyOf(1_000_000);

const NAMES: PathNames = {
  name: 'Name',
  alias: 'Alias',
  subject: 'Subject',
  html: 'HtmlBody',
  text: 'TextBody',
  layout: 'LayoutTemplate',
  variables: 'TemplateModel',
};

const TYPES: readonly unknown[] = ['Standard', 'Layout'];

const FIELDS: FieldRules = {
  Name: textAs('name'),
  Subject: textAs('subject'),
  HtmlBody: textAs('html'),
  TextBody: textAs('text'),
  Alias: textAs('alias', aliasOf),
  LayoutTemplate: textAs('layout', aliasOf),
  TemplateType: (value, path) =>
    TYPES.includes(value) ? { fields: { type: value } } : refused('must be Standard or Layout')(value, path),
};

interface TemplateFields extends Partial<TemplateSources> {
  readonly name?: string;
  readonly alias?: string;
  readonly layout?: string;
  readonly type?: 'Standard' | 'Layout';
}

/** @throws {DomainError} `invalid_request`. */
const fieldsIn = (body: unknown): { readonly fields: TemplateFields; readonly sent: Fields } => {
  const sent = requireObject(body);
  return { fields: requireFields(sent, FIELDS), sent };
};

const typeOf = (html: string): 'Standard' | 'Layout' => (hasContentPlace(html) ? 'Layout' : 'Standard');

/** The place of the content makes a template a layout. @throws {DomainError} `invalid_request`. */
const requireContent = ({ html, text }: TemplateSources, type: string | undefined): void => {
  if (html === '' && text === '') throw refuseField('HtmlBody', 'is required, or TextBody');
  if (type === undefined || type === typeOf(html)) return;
  throw type === 'Layout'
    ? refuseField('HtmlBody', 'must contain {{{@content}}}, because TemplateType is Layout')
    : refuseField('HtmlBody', 'must not contain {{{@content}}}, because TemplateType is not Layout');
};

/** An empty name removes the layout, as null does. */
const layoutIn = (sent: Fields, layout: string | undefined): Fields =>
  'LayoutTemplate' in sent ? { layout: layout || null } : {};

/** Programs pass it back unchanged, so a template with an alias that is no number has our id. */
const numberOf = ({ alias, id }: SerializedTemplate): number | string => (isNumber(alias) ? Number(alias) : id);

const serializeHead = (template: SerializedWholeTemplate) => ({
  TemplateId: numberOf(template),
  Name: template.name,
  Active: template.status === 'published',
  Alias: isNumber(template.alias) ? null : template.alias,
  TemplateType: typeOf(template.content.html),
  LayoutTemplate: template.content.layout,
});

const serializeTemplate = (template: SerializedWholeTemplate) => {
  const { subject, html, text } = sourcesOf(template.content);
  return { ...serializeHead(template), Subject: subject, HtmlBody: html, TextBody: text, AssociatedServerId: 0 };
};

const COUNT_MAX = 500;
/** Contents of a page that are read at the same time. More hold memory and connections, fewer keep the client waiting. */
const READS_MAX = 4;

const listPostmarkTemplatesRoute = endpoint(
  'GET /compat/postmark/templates',
  {
    summary: 'getTemplates',
    query: z.strictObject({
      count: integerParameter(1, COUNT_MAX).default(COUNT_MAX),
      offset: integerParameter(0, OFFSET_MAX).default(0),
      templateType: z
        .string()
        .refine((type) => type === 'All', 'must be All: each template in the response has its TemplateType')
        .optional(),
    }),
  },
  async (call, route) => {
    const { count, offset } = call.query;
    const found = await pageByNumber(
      (query) => perform<List<SerializedTemplate>>(route, call, 'GET /v1/templates', { query }),
      { offset, limit: count, instead: 'GET /v1/templates' },
      ({ id }) => [id],
    );
    const bounds = { system: route.deps.context.system, concurrency: READS_MAX };
    const Templates = await mapConcurrently(found.items, bounds, async (id) =>
      serializeHead(await loadTemplate(route, call, id)),
    );
    return { TotalCount: totalOf(offset, found), Templates };
  },
);

const getPostmarkTemplateRoute = endpoint(
  'GET /compat/postmark/templates/:id',
  { summary: 'getTemplate', large: true },
  async (call, route) => serializeTemplate(await loadTemplate(route, call, aliasOf(call.id))),
);

const createPostmarkTemplateRoute = endpoint(
  'POST /compat/postmark/templates',
  { summary: 'createTemplate', body: z.unknown(), bounds: BOUNDS },
  async (call, route) => {
    const { fields, sent } = fieldsIn(call.body);
    const { name, alias, layout, type, subject = '', html = '', text = '' } = fields;
    if (name === undefined) throw refuseField('Name', 'is required, as text');
    const sources = { subject: subject || name, html, text };
    requireContent(sources, type);
    const body = {
      ...contentOf({ sources, raw: true, names: NAMES, before: null }),
      name,
      alias: alias ?? numberAsAlias(route),
      ...layoutIn(sent, layout),
      inline_css: true,
    };
    return serializeHead(await createPublished(route, call, body, NAMES));
  },
);

const editPostmarkTemplateRoute = endpoint(
  'PUT /compat/postmark/templates/:id',
  { summary: 'editTemplate', body: z.unknown(), bounds: BOUNDS },
  async (call, route) => {
    const { fields, sent } = fieldsIn(call.body);
    const { name, alias, layout, type, ...changed } = fields;
    const before = await loadTemplate(route, call, aliasOf(call.id));
    if (alias !== undefined && alias !== before.alias)
      throw refuseField('Alias', 'cannot be changed: create another template');
    const sources = { ...sourcesOf(before.content), ...changed };
    requireContent(sources, type ?? typeOf(before.content.html));
    const isWritten = Object.keys(changed).length > 0;
    const content = isWritten ? contentOf({ sources, raw: true, names: NAMES, before: before.content }) : {};
    const body = { ...content, ...(name === undefined ? {} : { name }), ...layoutIn(sent, layout) };
    await changePublished(route, call, before, { body, names: NAMES });
    return serializeHead(await loadTemplate(route, call, before.id));
  },
);

const deletePostmarkTemplateRoute = endpoint(
  'DELETE /compat/postmark/templates/:id',
  { summary: 'deleteTemplate' },
  async (call, route) => {
    await perform(route, call, 'DELETE /v1/templates/:id', { id: aliasOf(call.id) });
    return { ErrorCode: 0, Message: `Template ${call.id} removed.` };
  },
);

/** All routes of this file, by the name of the operation. */
export const POSTMARK_TEMPLATE_ROUTES = {
  listPostmarkTemplatesRoute,
  getPostmarkTemplateRoute,
  createPostmarkTemplateRoute,
  editPostmarkTemplateRoute,
  deletePostmarkTemplateRoute,
};
