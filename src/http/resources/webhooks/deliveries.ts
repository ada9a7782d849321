import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { carriesContents, recordResend } from '../../../commands/webhook.ts';
import type { Caller } from '../../../domain/api-key/caller.ts';
import { allows } from '../../../domain/api-key/events.ts';
import { CUSTOMER_EVENT_TYPES } from '../../../domain/customer-events/customer-event-types.ts';
import type { CustomerEvent } from '../../../domain/customer-events/customer-events.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { Position } from '../../../domain/kernel/event-store.ts';
import { formatId, ID_BYTES, isId } from '../../../domain/kernel/ids.ts';
import type { CountedReplay, WebhookDelivery, WebhookTry } from '../../../domain/ports/webhooks.ts';
import { POST_HEADERS, REPLAY_HEADER, requireEnabled, webhookTimestamp } from '../../../domain/webhook/webhook.ts';
import { serializePosts } from '../../compat/webhook-formats.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../../endpoint.ts';
import { listOf, listSchema, pageParameters, timeField, timeSchema } from '../../fields.ts';
import { decodePlace, encodePlace, readYourWrites } from '../../reading.ts';
import { eventRecipientSchema } from '../events/event.ts';
import { issuedCursor, START } from '../events/event-pages.ts';
import { type SerializedEvent, serializeEvents, serializeWithoutContents } from '../events/serialize-events.ts';
import { loadWebhook } from './webhooks.ts';

/** Replaces secret values. */
const HIDDEN = '[hidden]';
const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;

const webhookRequestSchema = z.strictObject({
  url: z.string(),
  headers: z
    .record(z.string(), z.string())
    .describe(`Headers of the request, without the signature. Values of custom headers are shown as \`${HIDDEN}\`.`),
  body_bytes: z.number().int(),
  body_sha256: z.string().describe('SHA-256 of the body that was posted, in hex.'),
});

export const webhookDeliverySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook_delivery'),
    webhook_id: z.string(),
    event_id: z.string(),
    event_type: z.string(),
    recipient: eventRecipientSchema
      .nullable()
      .describe('Recipient that the event is about. null: the event is not about a recipient.'),
    replay_id: z.string().nullable().describe('Replay that the delivery belongs to. null: no replay.'),
    status: z.enum(DELIVERY_STATES),
    created_at: timeSchema(),
    next_attempt_at: timeSchema().nullable(),
    attempts: z.array(
      z.strictObject({
        at: timeSchema(),
        request: webhookRequestSchema,
        status: z.number().int().nullable().describe('Status of the response. null: there was no response.'),
        duration_ms: z.number(),
        response: z.string().describe('First 1 kB of the response, or the reason for which there was no response.'),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' });
export type SerializedWebhookDelivery = z.infer<typeof webhookDeliverySchema>;
type SerializedWebhookRequest = z.infer<typeof webhookRequestSchema>;

const shownWebhookDeliverySchema = webhookDeliverySchema
  .extend({
    body: z
      .string()
      .describe(
        'The exact body as it would be posted now. Values that were erased or have expired are null, so its SHA-256 can ' +
          'differ from the one of earlier attempts. For received mail: the event as in the feed, without the contents that are ' +
          'posted too. They are at `GET /v1/inbound/{id}`.',
      ),
  })
  .meta({ id: 'ShownWebhookDelivery' });
export type ShownWebhookDelivery = z.infer<typeof shownWebhookDeliverySchema>;

const serializeRequest = (
  { event, replayId }: WebhookDelivery,
  { at, request }: WebhookTry,
): SerializedWebhookRequest => ({
  url: request.url,
  headers: {
    ...Object.fromEntries(request.headerNames.map((name) => [name, HIDDEN])),
    ...POST_HEADERS,
    'webhook-id': event.id,
    'webhook-timestamp': webhookTimestamp(at),
    ...(replayId === undefined ? {} : { [REPLAY_HEADER]: replayId }),
  },
  body_bytes: request.bodyBytes,
  body_sha256: request.bodySha256,
});

const serializeWebhookDelivery = (
  delivery: WebhookDelivery,
  { data: { recipient } }: SerializedEvent,
): SerializedWebhookDelivery => ({
  id: delivery.id,
  object: 'webhook_delivery',
  webhook_id: delivery.webhookId,
  event_id: delivery.event.id,
  event_type: delivery.event.type,
  recipient: recipient === undefined ? null : { ...recipient },
  replay_id: delivery.replayId ?? null,
  status: delivery.state,
  created_at: delivery.createdAt.toISOString(),
  next_attempt_at: delivery.dueAt?.toISOString() ?? null,
  attempts: delivery.tries.map((tried) => ({
    at: tried.at.toISOString(),
    request: serializeRequest(delivery, tried),
    status: tried.status,
    duration_ms: tried.durationMs,
    response: tried.text,
  })),
});

/** Events with the contents that are still stored, or without contents for a key that lacks `read`. */
const serializeFor = async (
  { context: { contents } }: Pick<HttpDependencies, 'context'>,
  { permissions }: Caller,
  events: readonly CustomerEvent[],
): Promise<readonly SerializedEvent[]> =>
  allows(permissions, 'read') ? serializeEvents(contents, events) : events.map(serializeWithoutContents);

export const serializeDeliveries = async (
  deps: Pick<HttpDependencies, 'context'>,
  caller: Caller,
  deliveries: readonly WebhookDelivery[],
): Promise<readonly SerializedWebhookDelivery[]> => {
  const events = await serializeFor(
    deps,
    caller,
    deliveries.map(({ event }) => event),
  );
  return deliveries.map((delivery, index) => serializeWebhookDelivery(delivery, events[index] as SerializedEvent));
};

const deliveriesOf = (id: string): string => `webhook-deliveries/${id}`;

const deliveryFilter = z.strictObject({
  ...pageParameters,
  status: z
    .enum([...DELIVERY_STATES, 'failing'])
    .optional()
    .describe(
      'Only deliveries with this status. `failing`: those that have failed, and those that wait for another attempt after a ' +
        'failed one.',
    ),
  event_type: z.enum(CUSTOMER_EVENT_TYPES).optional().describe('Only deliveries of events of this type.'),
});

export const listWebhookDeliveriesRoute = endpoint(
  'GET /v1/webhooks/:id/deliveries',
  {
    summary: 'List the deliveries of a webhook',
    description:
      'Returns the deliveries with all of their attempts. The filters search at most 5,000 deliveries per page, so a page can be empty although `has_more` is true: continue ' +
      'with `next_cursor`.',
    query: deliveryFilter,
    answer: listSchema(webhookDeliverySchema),
  },
  async ({ caller, id, query: { limit, after, status: state, event_type: type } }, { deps }) => {
    const place = decodePlace(deliveriesOf(id), after);
    await loadWebhook(deps, caller, id);
    const { deliveries, next } = await deps.readModels.inShareOf(caller.organizationId, () =>
      deps.webhookDeliveries.list({ webhookId: id, limit, ...place, state, type }),
    );
    return listOf(
      await serializeDeliveries(deps, caller, deliveries),
      next !== null,
      encodePlace(deliveriesOf(id), next),
    );
  },
);

/** @throws {DomainError} `not_found`, `other_organization`. */
const loadDelivery = async (
  deps: Pick<HttpDependencies, 'context' | 'readModels' | 'webhookDeliveries'>,
  caller: Caller,
  { params }: FastifyRequest,
) => {
  const { id, delivery: deliveryId } = params as { readonly id: string; readonly delivery: string }; // of the path
  const { webhook, known } = await loadWebhook(deps, caller, id);
  const found = isId('dlv', deliveryId)
    ? await deps.readModels.inShareOf(caller.organizationId, () =>
        deps.webhookDeliveries.find({ ids: [deliveryId], limit: 1 }),
      )
    : [];
  const delivery = found.find(({ webhookId }) => webhookId === id);
  if (delivery === undefined) throw new DomainError('not_found', 'delivery of the webhook not found');
  return { webhook, known, delivery };
};

export const getWebhookDeliveryRoute = endpoint(
  'GET /v1/webhooks/:id/deliveries/:delivery',
  { summary: 'Get a delivery of a webhook', answer: shownWebhookDeliverySchema, etag: false },
  async ({ caller, request }, { deps }) => {
    const { webhook, delivery } = await loadDelivery(deps, caller, request);
    const [event] = await serializeFor(deps, caller, [delivery.event]);
    const isShown = allows(caller.permissions, 'read') && (await carriesContents(deps.context, webhook));
    const contents = isShown ? deps.context.contents : null;
    const [posted] = await serializePosts(contents, [delivery.event], webhook.format);
    return { ...serializeWebhookDelivery(delivery, event as SerializedEvent), body: JSON.stringify(posted) };
  },
);

export const resendWebhookDeliveryRoute = endpoint(
  'POST /v1/webhooks/:id/deliveries/:delivery/resend',
  {
    summary: 'Resend a delivery',
    description:
      'Posts the event again now. Works for delivered, failed and waiting deliveries. The delivery keeps its event id and ' +
      'its attempts, and follows the rest of its retry schedule. The request is recorded.',
    answer: webhookDeliverySchema,
    etag: false,
  },
  async ({ caller, origin, request }, { deps }) => {
    const { delivery, known } = await loadDelivery(deps, caller, request);
    const { id: deliveryId, webhookId } = delivery;
    await recordResend(deps.context, origin, { webhookId, environment: caller.environment, deliveryId, known });
    const now = deps.context.system.now();
    await deps.webhookDeliveries.resend(delivery.id, now);
    const [posted] = await serializeDeliveries(deps, caller, [{ ...delivery, state: 'pending', dueAt: now }]);
    return posted;
  },
);

const replaySchema = z
  .strictObject({
    id: z.string(),
    object: z.literal('webhook_replay'),
    webhook_id: z.string(),
    status: z
      .enum(['running', 'completed', 'cancelled'])
      .describe('`completed`: all deliveries of the replay were created.'),
    since: timeSchema().nullable().describe('null: the replay started at a cursor.'),
    until: timeSchema(),
    deliveries: z
      .strictObject({ pending: z.number().int(), delivered: z.number().int(), failed: z.number().int() })
      .describe('Number of deliveries in each state so far.'),
    created_at: timeSchema(),
    ended_at: timeSchema().nullable(),
  })
  .meta({ id: 'WebhookReplay' });
export type SerializedReplay = z.infer<typeof replaySchema>;

const serializeReplay = ({ counts, ...replay }: CountedReplay): SerializedReplay => ({
  id: replay.id,
  object: 'webhook_replay',
  webhook_id: replay.webhookId,
  status: replay.state,
  since: replay.since?.toISOString() ?? null,
  until: replay.until.toISOString(),
  deliveries: { ...counts },
  created_at: replay.createdAt.toISOString(),
  ended_at: replay.endedAt?.toISOString() ?? null,
});

const body = z
  .strictObject({
    since: timeField().optional().describe('Replay events from this time on.'),
    until: timeField().optional().describe('Replay events before this time. Default: now.'),
    after: pageParameters.after.describe(
      `Replay events after this cursor of the event feed, or from \`${START}\`. Use instead of \`since\`.`,
    ),
  })
  .refine(({ since, after }) => (since === undefined) !== (after === undefined), 'must contain either since or after')
  .refine(({ since, until }) => since === undefined || until === undefined || since < until, {
    path: ['until'],
    message: 'must be later than since',
  });

export const replayWebhookRoute = (route: RouteContext): void => {
  const { deps } = route;
  const { system } = deps.context;
  const placeOf = ({ organizationId, environment }: Caller, since: string, head: Position) =>
    deps.readModels.events.placeAt({ organizationId, environment, at: new Date(since), head });

  defineEndpoint(
    route,
    'POST /v1/webhooks/:id/replay',
    {
      summary: 'Replay past events',
      description:
        'Posts the events of a past period again: those that match the current subscription and filters of the webhook, at most ' +
        '100 a second. Events keep their ids; the header `webhook-replay` contains the id of the replay. A webhook can have one ' +
        'replay at a time. A replay continues after a restart of the service, and waits while the webhook is disabled.',
      body,
      examples: {
        'Events of one night': { since: '2026-01-30T22:00:00Z', until: '2026-01-31T06:00:00Z' },
        Everything: { after: START },
      },
      answer: replaySchema,
      etag: false,
    },
    async ({ caller, id, body: { since, until, after = START }, reply }) => {
      const { webhook } = await loadWebhook(deps, caller, id);
      requireEnabled(webhook, caller);
      const upTo = await readYourWrites(deps, ['events']);
      const now = system.now();
      const replay = {
        id: formatId('rpl', system.randomBytes(ID_BYTES)),
        webhookId: id,
        since: since === undefined ? null : new Date(since),
        until: until === undefined ? now : new Date(until),
        place: since === undefined ? issuedCursor(after, upTo) : await placeOf(caller, since, upTo),
        upTo,
        createdAt: now,
      };
      if (!(await deps.webhookDeliveries.startReplay(replay))) {
        throw new DomainError('resource_conflict', 'a replay of this webhook is running: wait for it, or cancel it');
      }
      reply.header('location', `/v1/webhooks/${id}/replays/${replay.id}`);
      const counts = { pending: 0, delivered: 0, failed: 0 };
      return serializeReplay({ ...replay, state: 'running', endedAt: null, counts });
    },
  );
};

const replaysOf = (id: string): string => `webhook-replays/${id}`;

export const listWebhookReplaysRoute = endpoint(
  'GET /v1/webhooks/:id/replays',
  {
    summary: 'List the replays of a webhook',
    description: 'A replay is deleted 30 days after it ended.',
    query: z.strictObject(pageParameters),
    answer: listSchema(replaySchema),
  },
  async ({ caller, id, query: { limit, after } }, { deps }) => {
    const place = decodePlace(replaysOf(id), after);
    await loadWebhook(deps, caller, id);
    const { replays, next } = await deps.readModels.inShareOf(caller.organizationId, () =>
      deps.webhookDeliveries.listReplays({ webhookId: id, limit, ...place }),
    );
    return listOf(replays.map(serializeReplay), next !== null, encodePlace(replaysOf(id), next));
  },
);

/** @throws {DomainError} `not_found`, `other_organization`. */
const loadReplay = async (
  deps: Pick<HttpDependencies, 'context' | 'readModels' | 'webhookDeliveries'>,
  caller: Caller,
  { params }: FastifyRequest,
) => {
  const { id, replay: replayId } = params as { readonly id: string; readonly replay: string }; // of the path
  await loadWebhook(deps, caller, id);
  const found = isId('rpl', replayId)
    ? await deps.readModels.inShareOf(caller.organizationId, () => deps.webhookDeliveries.findReplay(replayId))
    : null;
  if (found?.webhookId !== id) throw new DomainError('not_found', 'replay of the webhook not found');
  return found;
};

export const getWebhookReplayRoute = endpoint(
  'GET /v1/webhooks/:id/replays/:replay',
  { summary: 'Get a replay', answer: replaySchema, etag: false },
  async ({ caller, request }, route) => serializeReplay(await loadReplay(route.deps, caller, request)),
);

export const cancelWebhookReplayRoute = endpoint(
  'DELETE /v1/webhooks/:id/replays/:replay',
  {
    summary: 'Cancel a replay',
    description: 'Drops the deliveries that have not been attempted yet. Deliveries that wait for a retry are kept.',
  },
  async ({ caller, request }, { deps }) => {
    const { id } = await loadReplay(deps, caller, request);
    await deps.webhookDeliveries.cancelReplay(id, deps.context.system.now());
  },
);
