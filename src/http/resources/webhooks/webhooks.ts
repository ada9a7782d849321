import { z } from 'zod';
import { type LoadedStream, load } from '../../../commands/execute.ts';
import {
  adoptWebhook,
  deleteWebhook,
  pingWebhook,
  registerWebhook,
  rotateWebhookSecret,
  updateWebhook,
  type WebhookAtRevision,
} from '../../../commands/webhook.ts';
import { GRACE_PERIOD_MINUTES_DEFAULT, GRACE_PERIOD_MINUTES_MAX } from '../../../domain/api-key/api-key.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { isId } from '../../../domain/kernel/ids.ts';
import { webhookStream } from '../../../domain/kernel/streams.ts';
import { deliveryId } from '../../../domain/ports/webhooks.ts';
import { requireWebhook, WEBHOOKS_MAX_DEFAULT, type Webhook, webhook } from '../../../domain/webhook/webhook.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../../endpoint.ts';
import type { Problem } from '../../problems.ts';
import { ifMatch, listEndpoint, readRecent, resourceEndpoint, setRevision, statesOf } from '../../reading.ts';
import {
  createdWebhookSchema,
  endpointTimes,
  filtersOf,
  formatField,
  headersOf,
  pingedWebhookSchema,
  rotatedWebhookSchema,
  serializeSecret,
  serializeWebhook,
  webhookFields,
  webhookSchema,
} from './webhook.ts';

/** Loads a webhook of the caller's environment. @throws {DomainError} `not_found`, `other_organization`. */
export const loadWebhook = async (
  { context }: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  id: string,
): Promise<WebhookAtRevision & { readonly known: LoadedStream<Webhook> }> => {
  if (!isId('whk', id)) throw new DomainError('not_found', 'webhook not found');
  const known = await load(context.store, webhook, webhookStream(id));
  return { webhook: requireWebhook(known.state, caller), revision: known.revision, known };
};

const body = z.strictObject({
  ...webhookFields,
  description: webhookFields.description.default(null),
  filters: webhookFields.filters.default({ domain_ids: [], tags: [] }),
  headers: webhookFields.headers.default({}),
  format: formatField,
});

const urlSent = z.object({ url: webhookFields.url });

/** Resolves the URL only beside other problems; the command does so for a valid body. */
const urlProblems =
  ({ deps: { context } }: RouteContext, schema: z.ZodType) =>
  async (sent: unknown): Promise<readonly Problem[]> => {
    const { data } = urlSent.safeParse(sent);
    if (data === undefined || schema.safeParse(sent).success) return [];
    const problem = await context.webhookTarget.problemWith(data.url);
    return problem === null ? [] : [['url', `url ${problem}`]];
  };

/**
 * Runs registrations of organizations that have room for one more webhook. Registrations under way count, so that many at
 * the same moment do not pass the limit together. While the read model cannot be asked, nothing is limited: shares of posts
 * per organization still hold.
 */
const createWithinLimit = (deps: HttpDependencies) => {
  const { webhooksMax = WEBHOOKS_MAX_DEFAULT } = deps;
  const underWay = new Map<string, number>();

  const count = async (organizationId: string): Promise<number> => {
    try {
      await readRecent(deps, ['webhooks']);
      return await deps.readModels.webhooks.count(organizationId);
    } catch {
      return 0;
    }
  };

  return async <Result>(organizationId: string, register: () => Promise<Result>): Promise<Result> => {
    const before = underWay.get(organizationId) ?? 0;
    underWay.set(organizationId, before + 1);
    try {
      if ((await count(organizationId)) + before >= webhooksMax) {
        throw new DomainError(
          'too_many_webhooks',
          `an organization has at most ${webhooksMax} webhooks: delete one that you no longer need`,
        );
      }
      return await register();
    } finally {
      const left = (underWay.get(organizationId) ?? 1) - 1;
      if (left === 0) underWay.delete(organizationId);
      else underWay.set(organizationId, left);
    }
  };
};

export const registerWebhookRoute = (route: RouteContext): void => {
  const { deps } = route;
  const withinLimit = createWithinLimit(deps);
  defineEndpoint(
    route,
    'POST /v1/webhooks',
    {
      summary: 'Create a webhook',
      description: `Registers a URL that events are posted to. The response contains the signing secret, which is shown only once. An organization has at most ${WEBHOOKS_MAX_DEFAULT} webhooks, in both environments together, unless the operator of the service has set another limit.`,
      body,
      examples: {
        'Outcomes of messages': {
          url: 'https://example.com/hooks/outbox',
          events: ['message.delivered', 'message.bounced', 'message.complained'],
          description: 'Order mail',
        },
        Everything: { url: 'https://example.com/hooks/all', events: ['message.*', 'domain.*', 'api_key.*'] },
        'Events of one kind of mail, with a header of your own': {
          url: 'https://example.com/hooks/receipts',
          events: ['message.*'],
          filters: { tags: ['kind:receipt'] },
          headers: { authorization: 'Bearer s3cret' },
        },
        'For a receiver that was written for SendGrid': {
          url: 'https://example.com/hooks/sendgrid',
          events: ['message.delivered', 'message.bounced', 'message.complained'],
          format: 'sendgrid',
        },
      },
      answer: createdWebhookSchema,
      problems: urlProblems(route, body),
    },
    async ({ caller, origin, body: asked, reply }) => {
      const { filters, headers, format, ...command } = asked;
      const registration = {
        ...command,
        environment: caller.environment,
        filters: await filtersOf(deps, caller, filters),
        headers: headersOf(headers),
        ...(format === 'outbox' ? {} : { format }),
      };
      const { webhook, secret, revision } = await withinLimit(caller.organizationId, () =>
        registerWebhook(deps.context, origin, registration),
      );
      setRevision(reply, revision);
      reply.header('location', `/v1/webhooks/${webhook.webhookId}`);
      return { ...serializeWebhook(webhook), ...serializeSecret(webhook, secret) };
    },
  );
};

export const listWebhooksRoute = listEndpoint(
  'GET /v1/webhooks',
  { summary: 'List webhooks', of: 'webhooks', item: webhookSchema, takesAt: true },
  async (by, { organizationId, environment }, { deps }) => {
    const page = await deps.readModels.webhooks.list({ organizationId, environment, ...by });
    const streams = page.items.map(({ webhookId }) => webhookStream(webhookId));
    const webhooks = by.withDeleted ? await statesOf(deps.context, webhook, streams) : page.items;
    const ids = webhooks.map(({ webhookId }) => webhookId);
    const times = await endpointTimes(deps, ids);
    return { ...page, items: webhooks.map((one) => serializeWebhook(one, times)) };
  },
);

export const getWebhookRoute = resourceEndpoint(
  'GET /v1/webhooks/:id',
  { summary: 'Get a webhook', description: 'Returns the webhook without its secret.', answer: webhookSchema },
  async ({ caller, id, reply }, route) => {
    const { webhook, revision } = await loadWebhook(route.deps, caller, id);
    setRevision(reply, revision);
    return serializeWebhook(webhook, await endpointTimes(route.deps, [id]));
  },
);

const changes = z.strictObject({
  ...z.object(webhookFields).partial().shape,
  enabled: z
    .boolean()
    .optional()
    .describe('false: nothing is posted, and deliveries wait. true: posting resumes with the waiting deliveries.'),
});

export const updateWebhookRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'PATCH /v1/webhooks/:id',
    {
      summary: 'Update a webhook',
      description:
        'Changes, enables or disables a webhook. Omitted fields stay unchanged; `filters` and `headers` are replaced as a whole. ' +
        'Events that happened while the webhook was disabled are not posted automatically: use a replay.',
      body: changes,
      examples: {
        'Another address': { url: 'https://example.com/hooks/v2' },
        'Enable it again': { enabled: true },
        'Without custom headers': { headers: {} },
      },
      answer: webhookSchema,
      problems: urlProblems(route, changes),
    },
    async ({ caller, origin, id, body: { filters, headers, ...asked }, request, reply }) => {
      const { known } = await loadWebhook(deps, caller, id);
      const { webhook, revision } = await updateWebhook(deps.context, origin, {
        ...asked,
        webhookId: id,
        known,
        environment: caller.environment,
        ...(filters && { filters: await filtersOf(deps, caller, filters) }),
        ...(headers && { headers: headersOf(headers) }),
        ...ifMatch(request),
      });
      setRevision(reply, revision);
      return serializeWebhook(webhook, await endpointTimes(deps, [id]));
    },
  );
};

export const adoptWebhookRoute = endpoint(
  'POST /v1/webhooks/:id/adopt',
  {
    summary: 'Adopt a webhook',
    description:
      'Makes you the owner of a webhook whose key has ended, or will end. A webhook is paused when the key in `owned_by` ends, ' +
      'if that key had an expiry or was restricted to networks. A member, or a key without these restrictions, can adopt the ' +
      'webhook, which then continues with the waiting events. Adopt the webhooks of a key before you revoke it to avoid the ' +
      'pause.',
    answer: webhookSchema,
  },
  async ({ caller, origin, id, request, reply }, { deps }) => {
    const { known } = await loadWebhook(deps, caller, id);
    const bounds = caller.member === undefined ? caller.bounds : null;
    const named = { webhookId: id, environment: caller.environment, bounds, known, ...ifMatch(request) };
    const { webhook, revision } = await adoptWebhook(deps.context, origin, named);
    setRevision(reply, revision);
    return serializeWebhook(webhook, await endpointTimes(deps, [id]));
  },
);

const rotation = z.strictObject({
  grace_period_minutes: z
    .int()
    .min(0)
    .max(GRACE_PERIOD_MINUTES_MAX)
    .default(GRACE_PERIOD_MINUTES_DEFAULT)
    .describe('Minutes for which posts are also signed with the previous secret (grace period).'),
});

export const rotateWebhookSecretRoute = endpoint(
  'POST /v1/webhooks/:id/rotate-secret',
  {
    summary: 'Rotate the secret of a webhook',
    description:
      'Creates a new secret and returns it once. Until the grace period ends, `webhook-signature` contains signatures with both secrets, the new one first. The signature of the format `sendgrid` uses the new one only.',
    body: rotation,
    examples: {
      'Keep the previous secret for an hour': { grace_period_minutes: 60 },
      'Replace it immediately': { grace_period_minutes: 0 },
    },
    answer: rotatedWebhookSchema,
  },
  async ({ caller, origin, id, body: { grace_period_minutes: gracePeriodMinutes }, request, reply }, { deps }) => {
    const { known } = await loadWebhook(deps, caller, id);
    const { environment } = caller;
    const command = { webhookId: id, environment, gracePeriodMinutes, known, ...ifMatch(request) };
    const { webhook, secret, revision, previousExpiresAt } = await rotateWebhookSecret(deps.context, origin, command);
    setRevision(reply, revision);
    const times = await endpointTimes(deps, [id]);
    const shown = { ...serializeWebhook(webhook, times), ...serializeSecret(webhook, secret) };
    return { ...shown, previous_secret_expires_at: previousExpiresAt };
  },
);

export const pingWebhookRoute = endpoint(
  'POST /v1/webhooks/:id/ping',
  {
    summary: 'Ping a webhook',
    description:
      'Posts the event `webhook.ping` to this webhook only, even if it does not subscribe to it. The delivery shows how your endpoint answered.',
    answer: pingedWebhookSchema,
    etag: false,
  },
  async ({ caller, origin, id, request }, { deps }) => {
    const { known } = await loadWebhook(deps, caller, id);
    const named = { webhookId: id, environment: caller.environment, known, ...ifMatch(request) };
    const eventId = await pingWebhook(deps.context, origin, named);
    return {
      object: 'webhook_ping',
      webhook_id: id,
      event_id: eventId,
      delivery_id: deliveryId(id, eventId),
    };
  },
);

export const deleteWebhookRoute = endpoint(
  'DELETE /v1/webhooks/:id',
  { summary: 'Delete a webhook' },
  async ({ caller, origin, id, request }, { deps }) => {
    const { known } = await loadWebhook(deps, caller, id);
    const command = { webhookId: id, environment: caller.environment, known, ...ifMatch(request) };
    await deleteWebhook(deps.context, origin, command);
  },
);
