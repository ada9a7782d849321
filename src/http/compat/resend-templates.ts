import { z } from 'zod';
import { aliasOf } from '../../domain/template/template.ts';
import { bodyOf } from '../bodies.ts';
import { endpoint } from '../endpoint.ts';
import type {
  SerializedContent,
  SerializedTemplate,
  SerializedVersion,
  SerializedWholeTemplate,
} from '../resources/templates/template.ts';
import type { TemplateSources } from './placeholders.ts';
import { pageAfter, resendPage } from './resend-account.ts';
import { contentOf, fieldsOfTemplate, isNumber, loadTemplate, numberAsAlias, sourcesOf } from './templates.ts';
import {
  as,
  type FieldRules,
  type Fields,
  type List,
  listOf,
  type PathNames,
  perform,
  refuseField,
  requireFields,
  textAs,
} from './translate.ts';

/** Templates of the npm package `resend`, by our own operations. As with ours, a change applies when it is published. */

/** All parts of a template, with room for JSON's escapes, as for our own operations. */
const BOUNDS = bodyOf(1_000_000);

/** Newest versions, among which the published one is found. */
const VERSIONS_MAX = 100;

const NAMES: PathNames = {
  'variables[].name': 'variables[].key',
  'variables[].default': 'variables[].fallback_value',
};

/** A variable without a fallback must have a value in every send. */
const completeVariable = (variable: Fields): Fields => ({ ...variable, required: variable.default === undefined });

const FIELDS: FieldRules = {
  name: textAs('name'),
  subject: textAs('subject'),
  html: textAs('html'),
  text: textAs('text'),
  alias: textAs('alias'),
  from: as('from'),
  reply_to: (value) => ({ fields: { reply_to: [value].flat() } }),
  variables: listOf(
    'variables',
    { key: textAs('name'), type: as('type'), fallback_value: as('default') },
    completeVariable,
  ),
};

interface TemplateFields extends Partial<TemplateSources> {
  readonly alias?: string;
  readonly variables?: unknown;
}

/** @throws {DomainError} `invalid_request`. */
const fieldsIn = (body: unknown): { readonly sources: Partial<TemplateSources>; readonly others: TemplateFields } => {
  const { subject, html, text, ...others } = requireFields(body, FIELDS) as TemplateFields;
  const sources = Object.entries({ subject, html, text }).filter(([, value]) => value !== undefined);
  return { sources: Object.fromEntries(sources), others };
};

/** Variables as declared, and those that are only used. @throws {DomainError} if a placeholder cannot be converted. */
const convertedOf = (
  sources: TemplateSources,
  before: SerializedContent | null,
  declared: unknown = before?.variables ?? [],
): Fields => {
  const content = contentOf({ sources, raw: false, names: NAMES, before });
  if (!Array.isArray(declared)) return { ...content, variables: declared };
  const names = new Set(declared.map((one: { readonly name?: unknown } | null) => one?.name));
  const used = (content.variables as SerializedContent['variables']).filter(({ name }) => !names.has(name));
  return { ...content, variables: [...declared, ...used] };
};

/** Placeholders have three braces there. */
const tripled = (source: string): string => source.replaceAll(/(?<!\{)\{\{([\w.]+)\}\}(?!\})/g, '{{{$1}}}');

const serializeHead = ({ id, name, alias, status, created_at, updated_at }: SerializedTemplate) => ({
  id,
  name,
  alias: isNumber(alias) ? null : alias,
  status,
  created_at,
  updated_at,
});

const serializeTemplate = (template: SerializedWholeTemplate, published_at: string | null) => {
  const { content, created_at, updated_at } = template;
  const { subject, html, text } = sourcesOf(content);
  return {
    object: 'template',
    ...serializeHead(template),
    published_at,
    subject: tripled(subject),
    html: tripled(html),
    text: text === '' ? null : tripled(text),
    from: content.from,
    reply_to: content.reply_to.length === 0 ? null : content.reply_to,
    variables: content.variables.map((one) => ({
      key: one.name,
      type: one.type,
      fallback_value: one.default ?? null,
      created_at,
      updated_at,
    })),
    has_unpublished_versions: template.has_draft,
    current_version_id: template.published_version === null ? null : String(template.published_version),
  };
};

const named = (id: string) => ({ object: 'template', id });

const createResendTemplateRoute = endpoint(
  'POST /compat/resend/templates',
  { summary: 'templates.create', body: z.unknown(), bounds: BOUNDS },
  async (call, route) => {
    const { sources, others } = fieldsIn(call.body);
    const { alias, variables, ...rest } = others;
    const { name } = rest as { readonly name?: string };
    if (name === undefined) throw refuseField('name', 'is required, as text');
    const content = convertedOf({ subject: name, html: '', text: '', ...sources }, null, variables);
    const body = { ...content, ...rest, alias: alias === undefined ? numberAsAlias(route) : aliasOf(alias) };
    return named((await perform<SerializedTemplate>(route, call, 'POST /v1/templates', { body, names: NAMES })).id);
  },
);

const listResendTemplatesRoute = endpoint(
  'GET /compat/resend/templates',
  { summary: 'templates.list', query: resendPage },
  async (call, route) => {
    const { data, has_more } = await pageAfter<SerializedTemplate>(route, call, 'templates');
    return { object: 'list', has_more, data: data.map(serializeHead) };
  },
);

const getResendTemplateRoute = endpoint(
  'GET /compat/resend/templates/:id',
  { summary: 'templates.get', large: true },
  async (call, route) => {
    const template = await loadTemplate(route, call, aliasOf(call.id));
    const { data } = await perform<List<SerializedVersion>>(route, call, 'GET /v1/templates/:id/versions', {
      id: template.id,
      query: { limit: String(VERSIONS_MAX) },
    });
    return serializeTemplate(template, data.find(({ published }) => published)?.published_at ?? null);
  },
);

const updateResendTemplateRoute = endpoint(
  'PATCH /compat/resend/templates/:id',
  { summary: 'templates.update', body: z.unknown(), bounds: BOUNDS },
  async (call, route) => {
    const { sources, others } = fieldsIn(call.body);
    const { alias, variables, ...rest } = others;
    const { id, content, ...before } = await loadTemplate(route, call, aliasOf(call.id));
    if (alias !== undefined && aliasOf(alias) !== before.alias)
      throw refuseField('alias', 'cannot be changed: create another template');
    const isWritten = variables !== undefined || Object.keys(sources).length > 0;
    const written = isWritten ? convertedOf({ ...sourcesOf(content), ...sources }, content, variables) : {};
    await perform(route, call, 'PATCH /v1/templates/:id', { id, body: { ...written, ...rest }, names: NAMES });
    return named(id);
  },
);

const deleteResendTemplateRoute = endpoint(
  'DELETE /compat/resend/templates/:id',
  { summary: 'templates.remove' },
  async (call, route) => {
    const { id } = await loadTemplate(route, call, aliasOf(call.id));
    await perform(route, call, 'DELETE /v1/templates/:id', { id });
    return { ...named(id), deleted: true };
  },
);

const publishResendTemplateRoute = endpoint(
  'POST /compat/resend/templates/:id/publish',
  { summary: 'templates.publish' },
  async (call, route) => {
    const { template_id: id } = await perform<SerializedVersion>(route, call, 'POST /v1/templates/:id/publish', {
      id: aliasOf(call.id),
    });
    return named(id);
  },
);

const duplicateResendTemplateRoute = endpoint(
  'POST /compat/resend/templates/:id/duplicate',
  { summary: 'templates.duplicate' },
  async (call, route) => {
    const fields = fieldsOfTemplate(await loadTemplate(route, call, aliasOf(call.id)));
    const body = { ...fields, alias: numberAsAlias(route) };
    return named((await perform<SerializedTemplate>(route, call, 'POST /v1/templates', { body })).id);
  },
);

/** All routes of this file, by the name of the operation. */
export const RESEND_TEMPLATE_ROUTES = {
  createResendTemplateRoute,
  listResendTemplatesRoute,
  getResendTemplateRoute,
  updateResendTemplateRoute,
  deleteResendTemplateRoute,
  publishResendTemplateRoute,
  duplicateResendTemplateRoute,
};
