import { z } from 'zod';
import { requireFromDomain } from '../../../commands/message/prepare-message.ts';
import { sendMessage } from '../../../commands/message/send-message.ts';
import { publishProblems } from '../../../commands/template/change-template.ts';
import { contentOf, loadTemplate } from '../../../commands/template/template-content.ts';
import { renderContent, requireValidHtml } from '../../../commands/template/use-template.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import type { MessageDraft } from '../../../domain/message/draft.ts';
import { TTL_SECONDS_DEFAULT } from '../../../domain/message/retry-schedule.ts';
import type { RenderedTemplate, SourcePlace } from '../../../domain/template/render-template.ts';
import { pacedBy } from '../../../lib/async/async.ts';
import { type Mailbox, parseMailbox } from '../../../lib/mime/mime.ts';
import { bodyOf } from '../../bodies.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../../endpoint.ts';
import { integerParameter, pageSchema } from '../../fields.ts';
import { imagesField, sealedMail } from '../../pages/mail-page.ts';
import { mailboxOfTemplate } from '../messages/send-body.ts';
import { mailboxes } from '../messages/send-fields.ts';
import { domainFactsFor, senderOf } from '../messages/send-message.ts';
import { sentMessageSchema, serializeAnalysis, serializeSentMessage } from '../messages/sent-message.ts';
import { localeField, renderedTemplateSchema, variablesField } from './template.ts';

/** Values of lists and objects. */
const BOUNDS = bodyOf(500_000);

/** A draft message without recipients, so that a rendered template can be analysed. */
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
  const from = rendered.from === undefined ? undefined : parseMailbox(rendered.from);
  const sender = await senderOf(auth.keyCache, caller, typeof from === 'object' ? from.address : undefined);
  const domain = await domainFactsFor(auth.keyCache, sender);
  const draft = draftOf(rendered, sender);
  const analysis = serializeAnalysis(await deps.analyzer.analyze({ draft, domain }, caller.organizationId));
  const findings: ((typeof analysis.findings)[number] & { readonly source: SourcePlace | null })[] = [];
  for (const finding of analysis.findings) {
    const { field, line, column } = finding;
    const source =
      line === undefined || column === undefined
        ? null
        : await pacedBy(deps.templateRenderer.isTurnOver, rendered.sourceOf(field, { line, column }));
    findings.push({ ...finding, source });
  }
  return { ...analysis, findings };
};

interface RenderRequest {
  readonly id: string;
  /** Absent: the draft. */
  readonly version: number | undefined;
  readonly locale: string | null;
  /** null: the values of the examples. */
  readonly variables: Readonly<Record<string, unknown>> | null;
}

/** @throws {DomainError} `not_found`, `template_invalid`, `template_variables_invalid`. */
const renderStored = async (
  { context, templateRenderer, templateCompiler }: HttpDependencies,
  { organizationId }: Caller,
  { id, version, locale, variables }: RenderRequest,
) => {
  const templates = { store: context.store, contents: context.contents, templateCompiler };
  const { template } = await loadTemplate(context.store, organizationId, id);
  const { content, version: found } = await contentOf(templates, template, { version: version ?? 'draft' });
  return {
    template,
    found,
    ...(await renderContent(templateRenderer, content, { variables, locale, field: 'variables' })),
  };
};

const VERSION_MAX = 999_999_999;

export const previewTemplateRoute = endpoint(
  'GET /v1/templates/:id/preview',
  {
    summary: 'Preview a template',
    description:
      'Returns the html of a message, rendered with the example values, in a sandboxed document that cannot run scripts, ' +
      'submit forms or load remote content. Links open in a new window. Nothing is stored.',
    query: z.strictObject({
      version: integerParameter(1, VERSION_MAX).optional().describe('Number of the version; the draft when absent.'),
      locale: localeField.optional(),
      images: imagesField,
    }),
    answer: pageSchema,
    mediaType: 'text/html',
  },
  async ({ caller, id, query: { version, locale = null, images }, reply }, { deps }) => {
    const { rendered } = await renderStored(deps, caller, { id, version, locale, variables: null });
    return sealedMail(reply, rendered.html, images);
  },
);

export const renderTemplateRoute = (route: RouteContext): void => {
  const { context, templateRenderer, templateCompiler, htmlChecker } = route.deps;
  const publishing = { ...context, templateRenderer, templateCompiler, htmlChecker };
  defineEndpoint(
    route,
    'POST /v1/templates/:id/render',
    {
      summary: 'Render a template',
      description:
        'Returns the subject, html and text of a message, and an analysis of them. For the draft, also why it cannot be ' +
        'published. Nothing is sent or stored.',
      body: z.strictObject({
        version: z.int().min(1).optional().describe('Number of the version; the draft when absent.'),
        locale: localeField.optional(),
        variables: variablesField.optional().describe('Values by variable name. Default: the values of the examples.'),
      }),
      bounds: BOUNDS,
      examples: { 'The draft with its example values': {}, 'A version in German': { version: 1, locale: 'de-AT' } },
      answer: renderedTemplateSchema,
    },
    async ({ caller, id, body: { version, locale = null, variables = null } }) => {
      const { template, found, rendered, unused } = await renderStored(route.deps, caller, {
        id,
        version,
        locale,
        variables,
      });
      return {
        object: 'rendered_template' as const,
        template_id: template.templateId,
        version: found,
        subject: rendered.subject,
        html: rendered.html,
        text: (await route.deps.textAlternatives.of(draftOf(rendered, caller), caller.organizationId)) || null,
        from: rendered.from ?? null,
        reply_to: [...(rendered.replyTo ?? [])],
        unused_variables: [...unused],
        publish_problems: found === null ? [...(await publishProblems(publishing, template))] : [],
        analysis: await analyzeRendered(route, caller, rendered),
      };
    },
  );
};

/** Enough for the people who review a template before it is published. */
const RECIPIENTS_MAX = 10;
const MARK = '[Test] ';

const body = z.strictObject({
  to: mailboxes
    .refine((all) => all.length <= RECIPIENTS_MAX, `must have at most ${RECIPIENTS_MAX} addresses`)
    .describe(`One address, or an array of at most ${RECIPIENTS_MAX}.`),
  version: z.int().min(1).optional().describe('Number of the version; the draft when absent.'),
  locale: localeField.optional(),
  variables: variablesField.optional().describe('Values by variable name. Default: the values of the examples.'),
});

const trialOf = (rendered: RenderedTemplate, to: readonly Mailbox[], { domain }: Caller): MessageDraft => ({
  from: rendered.from === undefined ? { address: `test@${domain.name}` } : mailboxOfTemplate('from', rendered.from),
  recipients: to.map((each) => ({ ...each, kind: 'to' })),
  replyTo: (rendered.replyTo ?? []).map((each) => mailboxOfTemplate('reply_to', each)),
  subject: MARK + rendered.subject,
  html: rendered.html,
  ...(rendered.text === undefined ? {} : { text: rendered.text }),
  headers: {},
  attachments: [],
  tags: [],
  metadata: {},
  stream: 'transactional',
  ttlSeconds: TTL_SECONDS_DEFAULT,
  trial: true,
});

export const testSendTemplateRoute = (route: RouteContext): void => {
  const { context, templateRenderer, templateCompiler, htmlChecker } = route.deps;
  const templates = { store: context.store, contents: context.contents, templateCompiler };
  defineEndpoint(
    route,
    'POST /v1/templates/:id/test-send',
    {
      summary: 'Send a test message from a template',
      description:
        'Sends a real message whose subject begins with `[Test]`. It is billed like any message, but not counted in statistics, ' +
        'warm-up quotas or the sender reputation. The sender is the one in the template, or else `test@` your domain.',
      body,
      bounds: BOUNDS,
      examples: { 'The draft with its examples': { to: 'you@example.net' } },
      answer: sentMessageSchema,
    },
    async ({ caller, origin, id, body: { to, version, locale = null, variables = null }, request }) => {
      const { organizationId } = caller;
      const { template } = await loadTemplate(context.store, organizationId, id);
      const { content } = await contentOf(templates, template, { version: version ?? 'draft' });
      const { rendered } = await renderContent(templateRenderer, content, { variables, locale, field: 'variables' });
      const tools = { templateRenderer, htmlChecker };
      await requireValidHtml(rendered, { ...tools, organizationId, code: 'template_invalid', field: 'html' });
      const from = rendered.from === undefined ? undefined : mailboxOfTemplate('from', rendered.from).address;
      const sender = await senderOf(route.auth.keyCache, caller, from);
      requireFromDomain(sender, from ?? `test@${sender.domain.name}`);
      const draft = trialOf(rendered, to, sender);
      const sent = await sendMessage(context, origin, sender, { draft, body: request.body, idempotencyKey: null });
      return serializeSentMessage(sent.message, sent.body);
    },
  );
};
