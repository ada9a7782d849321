import { z } from 'zod';
import { load } from '../../commands/execute.ts';
import { deleteWebhook, registerWebhook } from '../../commands/webhook.ts';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import { CUSTOMER_EVENT_TYPES } from '../../domain/customer-event-types.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { environmentSchema } from '../../domain/environment.ts';
import { isId } from '../../domain/ids.ts';
import type { Revision } from '../../domain/ports/event-store.ts';
import type { WebhookDelivery } from '../../domain/ports/webhook-deliveries.ts';
import { webhookStream } from '../../domain/streams.ts';
import { type ExistingWebhook, requireWebhook, webhook } from '../../domain/webhook/webhook.ts';
import { ifMatch, readYourWrites, setRevision } from '../consistency.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { defineEndpoint, type RouteContext } from '../endpoint.ts';
import { listOf, listSchema, timeSchema } from '../schemas/envelope.ts';
import { decodeCursor, decodePlace, encodeCursor, encodePlace } from '../validation/cursor.ts';
import { atMost, line, pageParameters } from '../validation/fields.ts';
import type { Problem } from '../validation/problems.ts';

export const webhookSchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook'),
    url: z.string(),
    events: z.array(z.string()),
    description: z.string().nullable(),
    environment: environmentSchema,
    status: z.enum(['enabled', 'disabled']),
    created_at: timeSchema(),
  })
  .meta({ id: 'Webhook' });
export type SerializedWebhook = z.infer<typeof webhookSchema>;

/** The secret is shown this once. */
export const createdWebhookSchema = webhookSchema.extend({ secret: z.string() }).meta({ id: 'CreatedWebhook' });

export const serializeWebhook = (webhook: ExistingWebhook): SerializedWebhook => ({
  id: webhook.webhookId,
  object: 'webhook',
  url: webhook.url,
  events: [...webhook.events],
  description: webhook.description,
  environment: webhook.environment,
  status: webhook.status === 'enabled' ? 'enabled' : 'disabled',
  created_at: webhook.createdAt,
});

export const webhookDeliverySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook_delivery'),
    webhook_id: z.string(),
    event_id: z.string(),
    event_type: z.string(),
    status: z.enum(['pending', 'delivered', 'failed']),
    created_at: timeSchema(),
    next_attempt_at: timeSchema().nullable(),
    attempts: z.array(
      z.strictObject({
        at: timeSchema(),
        status: z.number().int().nullable(),
        duration_ms: z.number(),
        response: z.string(),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' });
export type SerializedWebhookDelivery = z.infer<typeof webhookDeliverySchema>;

export const serializeWebhookDelivery = (delivery: WebhookDelivery): SerializedWebhookDelivery => ({
  id: delivery.id,
  object: 'webhook_delivery',
  webhook_id: delivery.webhookId,
  event_id: delivery.event.id,
  event_type: delivery.event.type,
  status: delivery.state,
  created_at: delivery.createdAt.toISOString(),
  next_attempt_at: delivery.dueAt?.toISOString() ?? null,
  attempts: delivery.tries.map(({ at, status, durationMs, text }) => ({
    at: at.toISOString(),
    status,
    duration_ms: durationMs,
    response: text,
  })),
});

/** Loads a webhook of the caller's environment. @throws {DomainError} `not_found`, `other_organization`. */
export const loadWebhook = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<{ readonly webhook: ExistingWebhook; readonly revision: Revision | 'no-stream' }> => {
  if (!isId('whk', id)) throw new DomainError('not_found', 'webhook not found');
  const { state, revision } = await load(context.store, webhook, webhookStream(id));
  return { webhook: requireWebhook(state, caller), revision };
};

const URL_CHARACTERS_MAX = 2048;
const DESCRIPTION_CHARACTERS_MAX = 500;
/** More than there are types; duplicates are ignored. */
const EVENTS_MAX = 100;

const FAMILIES = [...new Set(CUSTOMER_EVENT_TYPES.map((type) => `${type.slice(0, type.indexOf('.'))}.*`))];
const WANTED: readonly string[] = [...CUSTOMER_EVENT_TYPES, ...FAMILIES];

const body = z.strictObject({
  url: line(URL_CHARACTERS_MAX).describe(
    'Events are posted here: HTTPS at a globally routable address, port 443 or 8443, without user and ' +
      'password. While mail is captured (`MAIL_URL=capture:`), plain HTTP, any port and loopback addresses ' +
      'are allowed too. The name is resolved at registration and at every post.',
  ),
  events: atMost(
    EVENTS_MAX,
    z.array(z.string().refine((text) => WANTED.includes(text), `must be one of ${WANTED.join(', ')}`)).min(1),
  )
    .transform((events) => [...new Set(events)])
    .describe(`Event types (\`message.delivered\`) or families: ${FAMILIES.map((one) => `\`${one}\``).join(', ')}.`),
  description: line(DESCRIPTION_CHARACTERS_MAX, 0).nullable().default(null).describe('A note for people.'),
});

const urlSent = z.object({ url: body.shape.url });

export const registerWebhookRoute = (route: RouteContext): void => {
  const { context } = route.deps;

  /** Resolves the URL only beside other problems; the command does so for a valid body. */
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
      summary: 'Register a webhook; its secret is shown only once',
      body,
      examples: {
        'What becomes of messages': {
          url: 'https://example.com/hooks/outbox',
          events: ['message.delivered', 'message.bounced', 'message.complained'],
          description: 'Order mail',
        },
        Everything: { url: 'https://example.com/hooks/all', events: ['message.*', 'domain.*', 'api_key.*'] },
      },
      answer: createdWebhookSchema,
      problems: urlProblems,
    },
    async ({ caller, origin, body: asked, reply }) => {
      const command = { ...asked, environment: caller.environment };
      const { webhook, secret, revision } = await registerWebhook(context, origin, command);
      setRevision(reply, revision);
      reply.header('location', `/v1/webhooks/${webhook.webhookId}`);
      return { ...serializeWebhook(webhook), secret };
    },
  );
};

const LIST = 'webhooks';
const listQuery = z.strictObject(pageParameters);

export const listWebhooksRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/webhooks',
    { summary: 'List webhooks, newest first', query: listQuery, answer: listSchema(webhookSchema) },
    async ({ caller: { organizationId, environment }, query: { limit, after: cursor } }) => {
      const after = decodeCursor(LIST, cursor);
      await readYourWrites(deps, ['webhooks']);
      const page = await deps.readModels.webhooks.list({ organizationId, environment, limit, after });
      return listOf(page.items.map(serializeWebhook), page.hasMore, encodeCursor(LIST, page.next));
    },
  );
};

export const getWebhookRoute = (route: RouteContext): void => {
  defineEndpoint(
    route,
    'GET /v1/webhooks/:id',
    { summary: 'Read a webhook, without its secret', answer: webhookSchema },
    async ({ caller, id, reply }) => {
      const { webhook, revision } = await loadWebhook(route.deps, caller, id);
      setRevision(reply, revision);
      return serializeWebhook(webhook);
    },
  );
};

export const deleteWebhookRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'DELETE /v1/webhooks/:id',
    { summary: 'Delete a webhook' },
    async ({ caller, origin, id, request }) => {
      await loadWebhook(deps, caller, id);
      const command = { webhookId: id, environment: caller.environment, ...ifMatch(request) };
      await deleteWebhook(deps.context, origin, command);
    },
  );
};

const listOfWebhook = (id: string): string => `webhook-deliveries/${id}`;
const deliveriesQuery = z.strictObject(pageParameters);

export const listWebhookDeliveriesRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/webhooks/:id/deliveries',
    {
      summary: 'List the deliveries of a webhook with all attempts, newest first',
      query: deliveriesQuery,
      answer: listSchema(webhookDeliverySchema),
    },
    async ({ caller, id, query: { limit, after } }) => {
      const place = decodePlace(listOfWebhook(id), after);
      await loadWebhook(deps, caller, id);
      const { deliveries, next } = await deps.webhookDeliveries.list({ webhookId: id, limit, ...place });
      return listOf(deliveries.map(serializeWebhookDelivery), next !== null, encodePlace(listOfWebhook(id), next));
    },
  );
};
