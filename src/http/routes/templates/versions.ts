import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { draftContent, loadVersions, templateContent } from '../../../commands/template/template-content.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { requireVersion } from '../../../domain/template/change-template.ts';
import { sourceOf } from '../../../domain/template/content.ts';
import { differencesOf } from '../../../domain/template/differences.ts';
import type { ExistingTemplate, TemplateVersion } from '../../../domain/template/template.ts';
import { inTurns } from '../../../lib/async/async.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { decodePlace, encodePlace } from '../../lists.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import {
  listedVersionSchema,
  serializeContent,
  serializeVersion,
  templateDiffSchema,
  versionSchema,
} from '../../schemas/template.ts';
import { pageParameters } from '../../validation/fields.ts';

const VERSION_MAX = 999_999_999;
const listOfTemplate = (id: string): string => `template-versions/${id}`;

export const listTemplateVersionsRoute = endpoint(
  'GET /v1/templates/:id/versions',
  {
    summary: 'List the versions of a template, newest first',
    description: 'Also works for deleted templates, because messages refer to their versions.',
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
  { summary: 'Read a version of a template', answer: versionSchema, etag: false, large: true },
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
        .refine((text) => text === 'draft' || NUMBER.test(text), 'must be the number of a version, or draft')
        .transform((text) => (text === 'draft' ? text : Number(text)))
        .describe('Number of the version to compare with, usually an earlier one; or `draft`.'),
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
