import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { Position } from '../../../domain/kernel/event-store.ts';
import { formatId, ID_BYTES, isId } from '../../../domain/kernel/ids.ts';
import type { CountedReplay } from '../../../domain/ports/webhook-deliveries.ts';
import { requireEnabled } from '../../../domain/webhook/webhook.ts';
import { readYourWrites } from '../../consistency.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { defineEndpoint, endpoint, type RouteContext } from '../../endpoint.ts';
import { decodePlace, encodePlace } from '../../lists.ts';
import { listOf, listSchema } from '../../schemas/envelope.ts';
import { replaySchema, type SerializedReplay } from '../../schemas/webhook-replay.ts';
import { pageParameters, timeField } from '../../validation/fields.ts';
import { issuedCursor, START } from '../events/event-pages.ts';
import { loadWebhook } from './webhooks.ts';

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
    since: timeField().optional().describe('Events from this time on.'),
    until: timeField().optional().describe('Events before this time; absent: up to now.'),
    after: pageParameters.after.describe(
      `Events after this cursor of the feed, or \`${START}\`; instead of \`since\`.`,
    ),
  })
  .refine(({ since, after }) => (since === undefined) !== (after === undefined), 'must have either since or after')
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
      summary: 'Post events of the past again',
      description:
        'Posts the events of that time that match the webhook’s current subscription and filters, at most 100 a second. They keep ' +
        'their ids; the header `webhook-replay` has the id of the replay. A webhook has one replay at a time. It continues after a restart, and ' +
        'waits while the webhook is disabled.',
      body,
      examples: {
        'Events missed during a night': { since: '2026-01-30T22:00:00Z', until: '2026-01-31T06:00:00Z' },
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

const listOfWebhook = (id: string): string => `webhook-replays/${id}`;
const query = z.strictObject(pageParameters);

export const listWebhookReplaysRoute = endpoint(
  'GET /v1/webhooks/:id/replays',
  {
    summary: 'List the replays of a webhook, newest first',
    description: 'Replays are deleted 30 days after they ended.',
    query,
    answer: listSchema(replaySchema),
  },
  async ({ caller, id, query: { limit, after } }, { deps }) => {
    const place = decodePlace(listOfWebhook(id), after);
    await loadWebhook(deps, caller, id);
    const { replays, next } = await deps.webhookDeliveries.listReplays({ webhookId: id, limit, ...place });
    return listOf(replays.map(serializeReplay), next !== null, encodePlace(listOfWebhook(id), next));
  },
);

/** @throws {DomainError} `not_found`, `other_organization`. */
const loadReplay = async (
  deps: Pick<HttpDependencies, 'context' | 'webhookDeliveries'>,
  caller: Caller,
  { params }: FastifyRequest,
) => {
  const { id, replay: replayId } = params as { readonly id: string; readonly replay: string }; // of the path
  await loadWebhook(deps, caller, id);
  const found = isId('rpl', replayId) ? await deps.webhookDeliveries.findReplay(replayId) : null;
  if (found?.webhookId !== id) throw new DomainError('not_found', 'replay of the webhook not found');
  return found;
};

export const getWebhookReplayRoute = endpoint(
  'GET /v1/webhooks/:id/replays/:replay',
  { summary: 'Read the progress of a replay', answer: replaySchema, etag: false },
  async ({ caller, request }, route) => serializeReplay(await loadReplay(route.deps, caller, request)),
);

export const cancelWebhookReplayRoute = endpoint(
  'DELETE /v1/webhooks/:id/replays/:replay',
  {
    summary: 'Cancel a replay',
    description: 'Deliveries that have not been tried yet are dropped. Those that wait for a retry are kept.',
  },
  async ({ caller, request }, { deps }) => {
    const { id } = await loadReplay(deps, caller, request);
    await deps.webhookDeliveries.cancelReplay(id, deps.context.system.now());
  },
);
