import { load } from '../../commands/execute.ts';
import { CUSTOMER_EVENT_TYPES } from '../../domain/customer-events/customer-event-types.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { webhookStream } from '../../domain/kernel/streams.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import { deliveryId, type WebhookDeliveries, type WebhookReplay } from '../../domain/ports/webhooks.ts';
import { type ExistingWebhook, subscribesTo, webhook } from '../../domain/webhook/webhook.ts';
import type { System } from '../../lib/async/async.ts';
import type { FeedEvent, FeedPage, ReadFeed } from '../../projections/events/queries.ts';
import type { Leadership } from '../leadership.ts';
import { repeat, type Work } from '../supervise.ts';
import { type Endpoints, passing } from './endpoints.ts';

/**
 * Turns replays into deliveries: it looks through the feed from each replay's place, and stores what its endpoint is owed in
 * the statement that moves the place. A crash repeats nothing that was stored. Deliveries of a replay are posted as any
 * other; few are stored ahead, so that what happens now never waits behind what happened long ago.
 */
export interface ReplayWebhooks {
  readonly store: EventStore;
  readonly contents: Pick<Contents, 'heads'>;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly endpoints: Pick<Endpoints, 'get'>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  /** Pages of the event feed. */
  readonly feed: (by: ReadFeed) => Promise<FeedPage>;
  readonly system: System;
}

const EVERY_MS = 1_000;
/** Replays of one round: each costs some queries while it runs. Beyond these, they take turns. */
const REPLAYS_MAX = 100;
/** Events looked through of one replay in a round, and so the most that it posts in a second. */
const EVENTS_MAX = 100;
/**
 * Pages of one organization in a round while none of the events is owed, and at least one for each of its replays. Higher:
 * others wait longer. Lower: a rare event is found later.
 */
const PAGES_PER_ORGANIZATION_MAX = 20;
/** Pending deliveries of an endpoint above which its replay waits. Higher: new events wait longer behind old ones. */
const PENDING_MAX = 100;
/** Most types with a query of their own. Higher: more index probes. Lower: events of rare types are found later. */
const TYPES_MAX = 8;
/** Clocks of processes that append differ: events this much later in the log may be of an earlier time. */
const CLOCKS_DIFFER_MS = 60_000;

const isWithin = ({ since, until }: WebhookReplay, { timestamp }: FeedEvent): boolean =>
  (since === null || Date.parse(timestamp) >= since.getTime()) && Date.parse(timestamp) < until.getTime();

const isBeyond = ({ upTo, until }: WebhookReplay, { cursor, timestamp }: FeedEvent): boolean =>
  cursor.position > upTo || Date.parse(timestamp) >= until.getTime() + CLOCKS_DIFFER_MS;

/** Posts one page of a replay. @returns the replay at its next position; null if it has ended or another process has moved it. */
const advance = async (
  { contents, webhookDeliveries, feed, system }: ReplayWebhooks,
  endpoint: ExistingWebhook,
  replay: WebhookReplay,
): Promise<{ readonly replay: WebhookReplay; readonly owed: number } | null> => {
  const { organizationId, environment, webhookId, events: wanted } = endpoint;
  const types = CUSTOMER_EVENT_TYPES.filter((type) => subscribesTo(wanted, type));
  const page = await feed({
    organizationId,
    environment,
    domainId: null,
    types: types.length > TYPES_MAX ? null : types,
    after: replay.place,
    limit: EVENTS_MAX,
  });
  const within = page.items.filter(
    (event) => types.includes(event.type) && !isBeyond(replay, event) && isWithin(replay, event),
  );
  const events = within.map(({ cursor: _, domainId: __, ...event }) => ({ event, endpoint }));
  const owed = (await passing(contents, events)).map(({ event }) => ({
    id: deliveryId(webhookId, event.id, replay.id),
    webhookId,
    event,
  }));
  const isLast = !page.hasMore || page.items.some((event) => isBeyond(replay, event));
  const to = page.next;
  const moved = await webhookDeliveries.advanceReplay({ replay, to, owed, isLast, now: system.now() });
  return moved && !isLast ? { replay: { ...replay, place: to }, owed: owed.length } : null;
};

const advanceAll = async (deps: ReplayWebhooks, first: WebhookReplay, pagesMax: number): Promise<void> => {
  const { webhookDeliveries, endpoints, store, system } = deps;
  const endpoint = endpoints.get(first.webhookId);
  if (endpoint === undefined) {
    const { state } = await load(store, webhook, webhookStream(first.webhookId));
    // The replay of a disabled webhook waits.
    if (state.status === 'deleted') await webhookDeliveries.cancelReplay(first.id, system.now());
    return;
  }
  if ((await webhookDeliveries.pendingOf(first.webhookId, PENDING_MAX)) >= PENDING_MAX) return;
  let replay = first;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const next = await advance(deps, endpoint, replay);
    if (next === null || next.owed > 0) return;
    replay = next.replay;
  }
};

export const replayWebhooks = (deps: ReplayWebhooks): Work => {
  let after: string | null = null;
  return repeat(deps.system, async () => {
    if (!deps.leadership.isLeader()) return EVERY_MS;
    const { replays, next } = await deps.webhookDeliveries.runningReplays({ limit: REPLAYS_MAX, after });
    after = next;
    const byOrganization = Map.groupBy(replays, ({ webhookId }) => deps.endpoints.get(webhookId)?.organizationId);
    for (const own of byOrganization.values()) {
      const pagesMax = Math.ceil(PAGES_PER_ORGANIZATION_MAX / own.length);
      for (const replay of own) await advanceAll(deps, replay, pagesMax);
    }
    return EVERY_MS;
  });
};
