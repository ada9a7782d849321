import { z } from 'zod';
import { requireFromDomain } from '../../../commands/message/prepare-message.ts';
import { sendMessage } from '../../../commands/message/send-message.ts';
import { renderContent, requireValidHtml } from '../../../commands/template/render-template.ts';
import { contentOf, loadTemplate } from '../../../commands/template/template-content.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import type { MessageDraft } from '../../../domain/message/draft.ts';
import { TTL_SECONDS_DEFAULT } from '../../../domain/message/retry-schedule.ts';
import type { RenderedTemplate } from '../../../domain/template/render-template.ts';
import type { Mailbox } from '../../../lib/mime/mime.ts';
import { bodyOf } from '../../bodies/json-bodies.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { sentMessageSchema, serializeSentMessage } from '../../schemas/sent-message.ts';
import { mailboxOfTemplate } from '../messages/send-by-template.ts';
import { mailboxes } from '../messages/send-fields.ts';
import { senderOf } from '../messages/send-message.ts';
import { localeField, variablesField } from './template-fields.ts';

/** Values of lists and objects. */
const BOUNDS = bodyOf(500_000);
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
        'The subject begins with `[Test]`. The message is delivered like any other, but it is not billed and not included in ' +
        'statistics, warm-up quotas or sender reputation. ' +
        'The sender is that of the template, or else `test@` the domain of the key.',
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
