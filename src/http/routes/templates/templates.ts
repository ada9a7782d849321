import { z } from 'zod';
import {
  changeDraft,
  createTemplate,
  deleteTemplate,
  publishTemplate,
  rollBackTemplate,
} from '../../../commands/template/change-template.ts';
import { draftContent, loadTemplate } from '../../../commands/template/template-content.ts';
import { templateStream } from '../../../domain/kernel/streams.ts';
import { template, templateIdOf } from '../../../domain/template/template.ts';
import { resourceEndpoint, statesOf } from '../../as-of.ts';
import { bodyOf } from '../../bodies/json-bodies.ts';
import { ifMatch, setRevision } from '../../consistency.ts';
import { endpoint } from '../../endpoint.ts';
import { listEndpoint } from '../../lists.ts';
import {
  listedTemplateSchema,
  publishedVersionSchema,
  serializeContent,
  serializeTemplate,
  serializeVersion,
  templateSchema,
} from '../../schemas/template.ts';
import { analyzeRendered } from './render-template.ts';
import { changeBody, changedContent, contentOfFields, createBody } from './template-fields.ts';

/** All parts of a template in all of its locales. */
const BOUNDS = bodyOf(1_000_000);

export const createTemplateRoute = endpoint(
  'POST /v1/templates',
  {
    summary: 'Create a template, as a draft',
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
  { summary: 'List templates, newest first', of: 'templates', item: listedTemplateSchema, takesAt: true },
  async (by, { organizationId }, { deps }) => {
    const page = await deps.readModels.templates.list({ organizationId, ...by });
    const streams = page.items.map(({ templateId }) => templateStream(templateId));
    const templates = by.withDeleted ? await statesOf(deps.context, template, streams) : page.items;
    return { ...page, items: templates.map(serializeTemplate) };
  },
);

export const getTemplateRoute = resourceEndpoint(
  'GET /v1/templates/:id',
  { summary: 'Read a template and its newest content', answer: templateSchema, large: true },
  async ({ caller: { organizationId }, id, reply }, { deps: { context } }) => {
    const { template, revision } = await loadTemplate(context.store, organizationId, id);
    setRevision(reply, revision);
    return { ...serializeTemplate(template), content: serializeContent(await draftContent(context, template)) };
  },
);

export const changeTemplateRoute = endpoint(
  'PATCH /v1/templates/:id',
  {
    summary: 'Change the draft of a template',
    description:
      'Absent fields stay unchanged; `variables` and `locales` are replaced as a whole. Sends use the published ' +
      'version until the draft is published.',
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
    summary: 'Publish the draft as the next version',
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
    summary: 'Send an earlier version again',
    description: 'Sends that do not specify a version use this one from now on. The draft stays unchanged.',
    body: z.strictObject({ version: z.int().min(1).describe('Number of a version.') }),
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
    description: 'The template can no longer be used. Messages sent with it stay unchanged.',
  },
  async ({ caller: { organizationId }, origin, id, request }, route) => {
    const { context } = route.deps;
    const templateId = templateIdOf(organizationId, id);
    await deleteTemplate(context, origin, { templateId, ...ifMatch(request) }).finally(() =>
      route.templates.forget(templateId),
    );
  },
);
