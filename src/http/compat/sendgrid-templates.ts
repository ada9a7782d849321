import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import { aliasOf } from '../../domain/template/template.ts';
import { mapConcurrently } from '../../lib/async/async.ts';
import { bodyOf } from '../bodies.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { integerParameter } from '../fields.ts';
import { isSent } from '../resources/messages/send-body.ts';
import type {
  SerializedContent,
  SerializedTemplate,
  SerializedVersion,
  SerializedWholeTemplate,
  SerializedWholeVersion,
} from '../resources/templates/template.ts';
import type { TemplateSources } from './placeholders.ts';
import { changePublished, contentOf, loadTemplate, sourcesOf } from './templates.ts';
import {
  type FieldRules,
  ignored,
  type List,
  type PathNames,
  perform,
  refusedUnless,
  refuseField,
  requireFields,
  textAs,
} from './translate.ts';

/**
 * Dynamic templates of `@sendgrid/client`, by our own operations. Our versions are numbered and never change: a change of
 * one makes the next, and none is deleted. A template without a version is a draft.
 */

type AnyCall = Call<unknown, unknown>;

/** All parts of a template, with room for JSON's escapes, as for our own operations. */
const BOUNDS = bodyOf(1_000_000);

const NAMES: PathNames = {
  name: 'name',
  subject: 'subject',
  html: 'html_content',
  text: 'plain_content',
  variables: 'test_data',
};

const TEMPLATE: FieldRules = {
  name: textAs('name'),
  generation: refusedUnless((value) => value === 'dynamic', 'must be dynamic: legacy templates are not supported'),
};

const VERSION: FieldRules = {
  subject: textAs('subject'),
  html_content: textAs('html'),
  plain_content: textAs('text'),
  active: refusedUnless(
    (value) => value === 1,
    'must be 1: a new version is active. Activate another with POST /v3/templates/{id}/versions/{version}/activate',
  ),
  // They change nothing that is sent.
  name: ignored,
  editor: ignored,
  generate_plain_content: ignored,
  test_data: ignored,
};

const isActive = (body: unknown): boolean => isSent(body) && body.active === 1;

/** @throws {DomainError} `invalid_request`. */
const nameIn = (body: unknown): string => {
  const { name } = requireFields(body, TEMPLATE) as { readonly name?: string };
  if (name === undefined) throw refuseField('name', 'is required, as text');
  return name;
};

/** The list does not show its size. Higher: slow answers. Lower: old versions cannot be read by their client. */
const VERSIONS_MAX = 20;
/** Templates that are read at the same time. More hold connections that other requests need, fewer keep the client waiting. */
const READS_MAX = 4;

const serializeVersion = ({ alias }: SerializedTemplate, { version, published, published_at }: SerializedVersion) => ({
  id: String(version),
  template_id: alias,
  active: published ? 1 : 0,
  name: `Version ${version}`,
  updated_at: published_at,
  generate_plain_content: false,
  editor: 'code',
});

const contentFields = ({ content }: { readonly content: SerializedContent }) => {
  const { subject, html, text } = sourcesOf(content);
  return { subject, html_content: html, plain_content: text };
};

const serializeWholeVersion = (template: SerializedTemplate, version: SerializedWholeVersion) => ({
  ...serializeVersion(template, version),
  ...contentFields(version),
});

const serializeTemplate = (
  { alias, name, updated_at }: SerializedTemplate,
  versions: readonly ReturnType<typeof serializeVersion>[],
) => ({ id: alias, name, generation: 'dynamic', updated_at, versions });

const versionsOf = async (route: RouteContext, call: AnyCall, template: SerializedTemplate) => {
  const query = { limit: String(VERSIONS_MAX) };
  const { data } = await perform<List<SerializedVersion>>(route, call, 'GET /v1/templates/:id/versions', {
    id: template.id,
    query,
  });
  return data.map((version) => serializeVersion(template, version));
};

const showTemplate = async (route: RouteContext, call: AnyCall, template: SerializedTemplate) =>
  serializeTemplate(template, await versionsOf(route, call, template));

const PAGE_MAX = 100;
const TOKEN_CHARACTERS_MAX = 500;

const listSendgridTemplatesRoute = endpoint(
  'GET /compat/sendgrid/v3/templates',
  {
    summary: 'GET /v3/templates',
    query: z.strictObject({
      generations: z
        .string()
        .refine((text) => text === 'dynamic', 'must be dynamic: there are no legacy templates')
        .default('dynamic'),
      page_size: integerParameter(1, PAGE_MAX).default(PAGE_MAX),
      page_token: z.string().max(TOKEN_CHARACTERS_MAX).optional(),
    }),
  },
  async (call, route) => {
    const { page_size, page_token } = call.query;
    const query = { limit: String(page_size), ...(page_token === undefined ? {} : { after: page_token }) };
    const { data, next_cursor } = await perform<List<SerializedTemplate>>(route, call, 'GET /v1/templates', {
      query,
      names: { after: 'page_token', limit: 'page_size' },
    });
    const bounds = { system: route.deps.context.system, concurrency: READS_MAX };
    const result = await mapConcurrently(data, bounds, (template) => showTemplate(route, call, template));
    return { result, _metadata: next_cursor === null ? {} : { next: next_cursor } };
  },
);

const createSendgridTemplateRoute = endpoint(
  'POST /compat/sendgrid/v3/templates',
  { summary: 'POST /v3/templates', body: z.unknown() },
  async (call, route) => {
    const name = nameIn(call.body);
    // Their clients send data only for ids that begin with `d-`.
    const alias = `d-${route.deps.context.system.uuid().replaceAll('-', '')}`;
    // A draft needs a subject and html; the first version replaces both.
    const body = { alias, name, subject: name, html: '<p></p>' };
    const template = await perform<SerializedTemplate>(route, call, 'POST /v1/templates', { body, names: NAMES });
    return serializeTemplate(template, []);
  },
);

const getSendgridTemplateRoute = endpoint(
  'GET /compat/sendgrid/v3/templates/:id',
  { summary: 'GET /v3/templates/{id}' },
  async (call, route) => showTemplate(route, call, await loadTemplate(route, call, aliasOf(call.id))),
);

const renameSendgridTemplateRoute = endpoint(
  'PATCH /compat/sendgrid/v3/templates/:id',
  { summary: 'PATCH /v3/templates/{id}', body: z.unknown() },
  async (call, route) => {
    const asked = { id: aliasOf(call.id), body: { name: nameIn(call.body) }, names: NAMES };
    return showTemplate(route, call, await perform(route, call, 'PATCH /v1/templates/:id', asked));
  },
);

const deleteSendgridTemplateRoute = endpoint(
  'DELETE /compat/sendgrid/v3/templates/:id',
  { summary: 'DELETE /v3/templates/{id}' },
  async (call, route) => {
    await perform(route, call, 'DELETE /v1/templates/:id', { id: aliasOf(call.id) });
  },
);

const loadVersion = (route: RouteContext, call: AnyCall, template: SerializedTemplate) =>
  perform<SerializedWholeVersion>(route, call, 'GET /v1/templates/:id/versions/:version', { id: template.id });

interface NewVersion {
  /** Parts that the program writes. */
  readonly fields: Partial<TemplateSources>;
  /** Parts that it does not write. */
  readonly sources: TemplateSources;
  readonly content: SerializedContent;
}

/** Publishes the next version, unless it would be the same as the active one. @returns the version that is then active. */
const publishVersion = async (
  route: RouteContext,
  call: AnyCall,
  before: SerializedWholeTemplate,
  { fields, sources: others, content }: NewVersion,
) => {
  const sources = { ...others, ...fields };
  if (sources.html === '' && sources.text === '') throw refuseField('html_content', 'is required, or plain_content');
  const body = contentOf({ sources, raw: true, names: NAMES, before: content });
  await changePublished(route, call, before, { body, names: NAMES });
  const after = await loadTemplate(route, call, before.id);
  const shown = (await versionsOf(route, call, after)).find(({ active }) => active === 1);
  return { ...shown, ...contentFields(after) };
};

const createSendgridVersionRoute = endpoint(
  'POST /compat/sendgrid/v3/templates/:id/versions',
  { summary: 'POST /v3/templates/{id}/versions', body: z.unknown(), bounds: BOUNDS },
  async (call, route) => {
    const fields: Partial<TemplateSources> = requireFields(call.body, VERSION);
    const before = await loadTemplate(route, call, aliasOf(call.id));
    const { content } = before;
    const isFirst = before.published_version === null;
    const sources = isFirst ? { subject: before.name, html: '', text: '' } : sourcesOf(content);
    return publishVersion(route, call, before, { fields, sources, content });
  },
);

/** The change is a version of its own, which is active: another than the active one is changed only by saying so. */
const changeSendgridVersionRoute = endpoint(
  'PATCH /compat/sendgrid/v3/templates/:id/versions/:version',
  { summary: 'PATCH /v3/templates/{id}/versions/{version}', body: z.unknown(), bounds: BOUNDS },
  async (call, route) => {
    const fields: Partial<TemplateSources> = requireFields(call.body, VERSION);
    const before = await loadTemplate(route, call, aliasOf(call.id));
    const { version, published, content } = await loadVersion(route, call, before);
    if (!published && !isActive(call.body)) {
      const remedy = `must be 1: version ${version} is not active, and a change is a new version, which is active`;
      throw refuseField('active', remedy);
    }
    return publishVersion(route, call, before, { fields, sources: sourcesOf(content), content });
  },
);

/** Messages name their version, so a version stays as long as its template. */
const deleteSendgridVersionRoute = endpoint(
  'DELETE /compat/sendgrid/v3/templates/:id/versions/:version',
  { summary: 'DELETE /v3/templates/{id}/versions/{version}' },
  async (call, route) => {
    const template = await loadTemplate(route, call, aliasOf(call.id));
    const { version } = await loadVersion(route, call, template);
    const problem = `version ${version} cannot be deleted, because messages name it: delete the template, or activate another version`;
    throw new DomainError('resource_conflict', problem);
  },
);

const getSendgridVersionRoute = endpoint(
  'GET /compat/sendgrid/v3/templates/:id/versions/:version',
  { summary: 'GET /v3/templates/{id}/versions/{version}', large: true },
  async (call, route) => {
    const template = await loadTemplate(route, call, aliasOf(call.id));
    return serializeWholeVersion(template, await loadVersion(route, call, template));
  },
);

const activateSendgridVersionRoute = endpoint(
  'POST /compat/sendgrid/v3/templates/:id/versions/:version/activate',
  { summary: 'POST /v3/templates/{id}/versions/{version}/activate' },
  async (call, route) => {
    const template = await loadTemplate(route, call, aliasOf(call.id));
    const { version } = await loadVersion(route, call, template);
    await perform(route, call, 'POST /v1/templates/:id/rollback', { id: template.id, body: { version } });
    return serializeWholeVersion(template, await loadVersion(route, call, template));
  },
);

/** All routes of this file, by the name of the operation. */
export const SENDGRID_TEMPLATE_ROUTES = {
  listSendgridTemplatesRoute,
  createSendgridTemplateRoute,
  getSendgridTemplateRoute,
  renameSendgridTemplateRoute,
  deleteSendgridTemplateRoute,
  createSendgridVersionRoute,
  getSendgridVersionRoute,
  changeSendgridVersionRoute,
  deleteSendgridVersionRoute,
  activateSendgridVersionRoute,
};
