import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  changeDraft,
  createTemplate,
  deleteTemplate,
  publishTemplate,
  rollBackTemplate,
} from '../../../commands/template/change-template.ts';
import {
  draftContent,
  loadTemplate,
  loadVersions,
  templateContent,
} from '../../../commands/template/template-content.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { templateStream } from '../../../domain/kernel/streams.ts';
import { sourceOf } from '../../../domain/template/content.ts';
import { differencesOf } from '../../../domain/template/differences.ts';
import {
  type ExistingTemplate,
  requireVersion,
  type TemplateVersion,
  template,
  templateIdOf,
} from '../../../domain/template/template.ts';
import { inTurns } from '../../../lib/async/async.ts';
import { bodyOf } from '../../bodies.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { listOf, listSchema, pageParameters } from '../../fields.ts';
import {
  decodePlace,
  encodePlace,
  ifMatch,
  listEndpoint,
  resourceEndpoint,
  setRevision,
  statesOf,
} from '../../reading.ts';
import { analyzeRendered } from './render-template.ts';
import {
  changeBody,
  changedContent,
  contentOfFields,
  createBody,
  listedTemplateSchema,
  listedVersionSchema,
  publishedVersionSchema,
  serializeContent,
  serializeTemplate,
  serializeVersion,
  templateDiffSchema,
  templateSchema,
  versionSchema,
} from './template.ts';

/** All parts of a template in all of its locales. */
const BOUNDS = bodyOf(1_000_000);

export const createTemplateRoute = endpoint(
  'POST /v1/templates',
  {
    summary: 'Create a template',
    body: createBody,
    bounds: BOUNDS,
    examples: {
      'With two variables': {
        alias: 'order-shipped',
        name: 'Order shipped',
        subject: 'Your order {{ order }} is on its way',
        html: '<p>Your order {{ order }} of {{ items }} items will arrive soon.</p>',
        variables: [
          { name: 'order', type: 'string', example: 'A-1042' },
          { name: 'items', type: 'number', example: 3 },
        ],
      },
      'In two languages': {
        alias: 'hello',
        name: 'Hello',
        subject: 'Hello {{ name }}',
        html: '<p>Hello {{ name }}</p>',
        variables: [{ name: 'name', type: 'string', default: 'you' }],
        locales: { de: { subject: 'Hallo {{ name }}', html: '<p>Hallo {{ name }}</p>' } },
      },
    },
    answer: templateSchema,
  },
  async ({ origin, body: { alias, name, description, ...fields }, reply }, { deps: { context } }) => {
    const content = contentOfFields(fields);
    const { template, revision } = await createTemplate(context, origin, { alias, name, description, content });
    setRevision(reply, revision);
    reply.header('location', `/v1/templates/${template.templateId}`);
    return { ...serializeTemplate(template), content: serializeContent(content) };
  },
);

export const listTemplatesRoute = listEndpoint(
  'GET /v1/templates',
  { summary: 'List templates', of: 'templates', item: listedTemplateSchema, takesAt: true },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.templates.list({ organizationId, ...by });
    const streams = page.items.map(({ templateId }) => templateStream(templateId));
    const templates = by.withDeleted ? await statesOf(deps.context, template, streams) : page.items;
    return { ...page, items: templates.map(serializeTemplate) };
  },
);

export const getTemplateRoute = resourceEndpoint(
  'GET /v1/templates/:id',
  { summary: 'Get a template', answer: templateSchema, large: true },
  async ({ caller: { organizationId }, id, reply }, { deps: { context } }) => {
    const { template, revision } = await loadTemplate(context.store, organizationId, id);
    setRevision(reply, revision);
    return { ...serializeTemplate(template), content: serializeContent(await draftContent(context, template)) };
  },
);

export const changeTemplateRoute = endpoint(
  'PATCH /v1/templates/:id',
  {
    summary: 'Update a template',
    description:
      'Changes the draft. Omitted fields stay unchanged; `variables` and `locales` are replaced as a whole. Messages use ' +
      'the published version until you publish the draft.',
    body: changeBody,
    bounds: BOUNDS,
    examples: { 'Another subject': { subject: 'Your order is on its way' } },
    answer: templateSchema,
  },
  async (
    { caller: { organizationId }, origin, id, body: { name, description, ...fields }, request, reply },
    { deps: { context } },
  ) => {
    const { template, revision } = await changeDraft(context, origin, {
      templateId: templateIdOf(organizationId, id),
      about: (before) => ({
        name: name ?? before.name,
        description: description === undefined ? before.description : description,
      }),
      content: (before) => changedContent(before, fields),
      ...ifMatch(request),
    });
    setRevision(reply, revision);
    return { ...serializeTemplate(template), content: serializeContent(await draftContent(context, template)) };
  },
);

export const publishTemplateRoute = endpoint(
  'POST /v1/templates/:id/publish',
  {
    summary: 'Publish a template',
    description:
      'Every variable that a part uses must be declared, and every declared variable must be used. The template is rendered ' +
      'with the values of the examples and must produce valid HTML. A version never changes.',
    answer: publishedVersionSchema,
  },
  async ({ caller, origin, id, request, reply }, route) => {
    const { context, templateRenderer, templateCompiler, htmlChecker } = route.deps;
    const templateId = templateIdOf(caller.organizationId, id);
    const { template, revision, version, example } = await publishTemplate(
      { ...context, templateRenderer, templateCompiler, htmlChecker },
      origin,
      { templateId, ...ifMatch(request) },
    ).finally(() => route.templates.forget(templateId));
    setRevision(reply, revision);
    return {
      ...serializeVersion(template, version),
      analysis: example === null ? null : await analyzeRendered(route, caller, example),
    };
  },
);

export const rollBackTemplateRoute = endpoint(
  'POST /v1/templates/:id/rollback',
  {
    summary: 'Roll back a template',
    description:
      'Makes an earlier version the published one: messages that do not name a version use it from now on. The draft stays unchanged.',
    body: z.strictObject({ version: z.int().min(1).describe('Number of the version to send from now on.') }),
    examples: { 'The first version': { version: 1 } },
    answer: listedTemplateSchema,
  },
  async ({ caller: { organizationId }, origin, id, body: { version }, request, reply }, route) => {
    const { context } = route.deps;
    const templateId = templateIdOf(organizationId, id);
    const { template, revision } = await rollBackTemplate(context, origin, {
      templateId,
      version,
      ...ifMatch(request),
    }).finally(() => route.templates.forget(templateId));
    setRevision(reply, revision);
    return serializeTemplate(template);
  },
);

export const deleteTemplateRoute = endpoint(
  'DELETE /v1/templates/:id',
  {
    summary: 'Delete a template',
    description: 'New messages can no longer use the template. Messages that were sent with it stay unchanged.',
  },
  async ({ caller: { organizationId }, origin, id, request }, route) => {
    const { context } = route.deps;
    const templateId = templateIdOf(organizationId, id);
    await deleteTemplate(context, origin, { templateId, ...ifMatch(request) }).finally(() =>
      route.templates.forget(templateId),
    );
  },
);

const VERSION_MAX = 999_999_999;
const listOfTemplate = (id: string): string => `template-versions/${id}`;

export const listTemplateVersionsRoute = endpoint(
  'GET /v1/templates/:id/versions',
  {
    summary: 'List the versions of a template',
    description: 'Returns the published versions, also of a deleted template, because its messages refer to them.',
    query: z.strictObject(pageParameters),
    answer: listSchema(listedVersionSchema),
  },
  async ({ caller: { organizationId }, id, query: { limit, after } }, { deps: { context } }) => {
    const template = await loadVersions(context.store, organizationId, id);
    const list = listOfTemplate(template.templateId);
    const before = Number(decodePlace(list, after).after ?? VERSION_MAX);
    const older = template.versions.filter(({ version }) => version < before).toReversed();
    const page = older.slice(0, limit);
    const hasMore = older.length > page.length;
    const next = hasMore ? String(page.at(-1)?.version) : null;
    const items = page.map((each) => serializeVersion(template, each));
    return listOf(items, hasMore, encodePlace(list, next));
  },
);

const NUMBER = /^[1-9]\d{0,8}$/;

interface TemplateAtVersion {
  readonly template: ExistingTemplate;
  readonly version: TemplateVersion;
}

/** @throws {DomainError} `not_found`, `other_organization`. */
const loadVersion = async (
  { context }: Pick<HttpDependencies, 'context'>,
  organizationId: string,
  { params }: FastifyRequest,
): Promise<TemplateAtVersion> => {
  const { id, version } = params as { readonly id: string; readonly version: string }; // of the path
  const template = await loadVersions(context.store, organizationId, id);
  if (!NUMBER.test(version)) throw new DomainError('not_found', 'version of the template not found');
  return { template, version: requireVersion(template, Number(version)) };
};

export const getTemplateVersionRoute = endpoint(
  'GET /v1/templates/:id/versions/:version',
  { summary: 'Get a version of a template', answer: versionSchema, etag: false, large: true },
  async ({ caller: { organizationId }, request }, route) => {
    const { context } = route.deps;
    const { template, version } = await loadVersion(route.deps, organizationId, request);
    const content = serializeContent(sourceOf(await templateContent(context.contents, version)));
    return { ...serializeVersion(template, version), content };
  },
);

export const compareTemplateVersionsRoute = endpoint(
  'GET /v1/templates/:id/versions/:version/diff',
  {
    summary: 'Compare two versions of a template',
    query: z.strictObject({
      with: z
        .string()
        .refine((text) => text === 'draft' || NUMBER.test(text), 'must be the number of a version, or "draft"')
        .transform((text) => (text === 'draft' ? text : Number(text)))
        .describe('Number of the version to compare with, usually an earlier one, or `draft`.'),
    }),
    answer: templateDiffSchema,
    etag: false,
    large: true,
  },
  async ({ caller: { organizationId }, request, query: { with: other } }, route) => {
    const { context } = route.deps;
    const { template, version } = await loadVersion(route.deps, organizationId, request);
    const [from, to] = await Promise.all([
      other === 'draft'
        ? draftContent(context, template)
        : templateContent(context.contents, requireVersion(template, other)),
      // A draft is compared with what was written, not with what publishing made of it.
      templateContent(context.contents, version).then((content) => (other === 'draft' ? sourceOf(content) : content)),
    ]);
    return {
      object: 'template_diff' as const,
      template_id: template.templateId,
      from: other === 'draft' ? null : other,
      to: version.version,
      changes: await inTurns(differencesOf(serializeContent(from), serializeContent(to))),
    };
  },
);
