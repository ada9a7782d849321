import { z } from 'zod';
import { registerWebhook } from '../../../commands/webhook/register-webhook.ts';
import { CUSTOMER_EVENT_TYPES } from '../../../domain/customer-event-types.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { createdWebhookShape, showWebhook } from '../../schemas/webhook.ts';
import { atMost } from '../../validation/at-most.ts';
import { line } from '../../validation/text.ts';
import type { Problem } from '../../validation/wording.ts';

const URL_CHARACTERS_MAX = 2048;
const DESCRIPTION_CHARACTERS_MAX = 500;
/** More than there are; one that is named again is taken for the same. */
const EVENTS_MAX = 100;

const FAMILIES = [...new Set(CUSTOMER_EVENT_TYPES.map((type) => `${type.slice(0, type.indexOf('.'))}.*`))];
const WANTED: readonly string[] = [...CUSTOMER_EVENT_TYPES, ...FAMILIES];

const body = z.strictObject({
  url: line(URL_CHARACTERS_MAX).describe(
    'Where events are posted to: HTTPS at a globally routable address, port 443 or 8443, without user and password. While ' +
      'mail is captured (`MAIL_URL=capture:`), plain HTTP, any port and this machine’s own loopback are taken too. The name is ' +
      'resolved when it is registered and again at every post.',
  ),
  events: atMost(
    EVENTS_MAX,
    z.array(z.string().refine((text) => WANTED.includes(text), `must be one of ${WANTED.join(', ')}`)).min(1),
  )
    .transform((events) => [...new Set(events)])
    .describe(
      `Which events: types, \`message.delivered\`, or families, ${FAMILIES.map((one) => `\`${one}\``).join(', ')}.`,
    ),
  description: line(DESCRIPTION_CHARACTERS_MAX, 0).nullable().default(null).describe('For people.'),
});

const urlSent = z.object({ url: body.shape.url });

export const registerWebhookRoute = (route: RouteContext): void => {
  const { context } = route.deps;

  /** The command looks at the address of what is right otherwise. */
  const urlProblems = async (sent: unknown): Promise<readonly Problem[]> => {
    const { data } = urlSent.safeParse(sent);
    if (data === undefined || body.safeParse(sent).success) return [];
    const problem = await context.webhookTarget.problemWith(data.url);
    return problem === null ? [] : [['url', `url ${problem}`]];
  };

  defineEndpoint(
    route,
    'POST /v1/webhooks',
    {
      summary: 'Register a webhook; its secret is shown this once',
      body,
      examples: {
        'What becomes of messages': {
          url: 'https://example.com/hooks/outbox',
          events: ['message.delivered', 'message.bounced', 'message.complained'],
          description: 'Order mail',
        },
        Everything: { url: 'https://example.com/hooks/all', events: ['message.*', 'domain.*', 'api_key.*'] },
      },
      answer: createdWebhookShape,
      problems: urlProblems,
    },
    async ({ caller, origin, body: asked, reply }) => {
      const command = { ...asked, environment: caller.environment };
      const { webhook, secret, revision } = await registerWebhook(context, origin, command);
      setRevision(reply, revision);
      reply.header('location', `/v1/webhooks/${webhook.webhookId}`);
      return { ...showWebhook(webhook), secret };
    },
  );
};
