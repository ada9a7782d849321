import { z } from 'zod';
import { renderContent } from '../../../commands/template/render-template.ts';
import { contentOf, loadTemplate } from '../../../commands/template/template-content.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import type { MessageDraft } from '../../../domain/message/draft.ts';
import type { RenderedTemplate } from '../../../domain/template/render-template.ts';
import { bodyOf } from '../../bodies/json-bodies.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { serializeAnalysis } from '../../schemas/sent-message.ts';
import { renderedTemplateSchema } from '../../schemas/template.ts';
import { domainFactsFor } from '../messages/send-message.ts';
import { localeField, variablesField } from './template-fields.ts';

/** Values of lists and objects. */
const BOUNDS = bodyOf(500_000);

/** The message that a rendered template would be, for an analysis; to nobody. */
const draftOf = ({ subject, html, text }: RenderedTemplate, { domain }: Caller): MessageDraft => ({
  from: { address: `template@${domain.name}` },
  recipients: [{ address: `recipient@${domain.name}`, kind: 'to' }],
  replyTo: [],
  subject,
  html,
  ...(text === undefined ? {} : { text }),
  headers: {},
  attachments: [],
  tags: [],
  metadata: {},
  stream: 'transactional',
  ttlSeconds: 1,
});

export const analyzeRendered = async (
  { deps, auth }: Pick<RouteContext, 'deps' | 'auth'>,
  caller: Caller,
  rendered: RenderedTemplate,
) => {
  const domain = await domainFactsFor(auth.keyCache, caller);
  const analysis = serializeAnalysis(
    await deps.analyzer.analyze({ draft: draftOf(rendered, caller), domain }, caller.organizationId),
  );
  return {
    ...analysis,
    findings: analysis.findings.map((finding) => {
      const { field, line, column } = finding;
      const source = line === undefined || column === undefined ? null : rendered.sourceOf(field, { line, column });
      return { ...finding, source };
    }),
  };
};

export const renderTemplateRoute = (route: RouteContext): void => {
  const { context, templateRenderer, templateCompiler, textAlternatives } = route.deps;
  const templates = { store: context.store, contents: context.contents, templateCompiler };
  defineEndpoint(
    route,
    'POST /v1/templates/:id/render',
    {
      summary: 'Render a template without sending it',
      description: 'Nothing is written.',
      body: z.strictObject({
        version: z.int().min(1).optional().describe('Number of the version; the draft when absent.'),
        locale: localeField.optional(),
        variables: variablesField.optional().describe('By name; the values of the examples when absent.'),
      }),
      bounds: BOUNDS,
      examples: { 'The draft with its examples': {}, 'A version in German': { version: 1, locale: 'de-AT' } },
      answer: renderedTemplateSchema,
    },
    async ({ caller, id, body: { version, locale = null, variables = null } }) => {
      const { template } = await loadTemplate(context.store, caller.organizationId, id);
      const { content, version: found } = await contentOf(templates, template, { version: version ?? 'draft' });
      const { rendered, unused } = renderContent(templateRenderer, content, {
        variables,
        locale,
        field: 'variables',
      });
      return {
        object: 'rendered_template' as const,
        template_id: template.templateId,
        version: found,
        subject: rendered.subject,
        html: rendered.html,
        text: (await textAlternatives.of(draftOf(rendered, caller))) || null,
        from: rendered.from ?? null,
        reply_to: [...(rendered.replyTo ?? [])],
        unused_variables: [...unused],
        analysis: await analyzeRendered(route, caller, rendered),
      };
    },
  );
};
