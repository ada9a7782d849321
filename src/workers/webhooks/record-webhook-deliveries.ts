import { load } from '../../commands/execute.ts';
import { CUSTOMER_EVENT_TYPES } from '../../domain/customer-events/customer-event-types.ts';
import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import {
  type EventStore,
  LOG_START,
  type Page,
  type Position,
  type RecordedEvent,
  readFamilies,
} from '../../domain/kernel/event-store.ts';
import { webhookStream } from '../../domain/kernel/streams.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import {
  deliveryId,
  type OwedDelivery,
  type RecordingCheckpoint,
  type StoredOwedEvents,
  type WebhookDeliveries,
  type WebhookReplay,
} from '../../domain/ports/webhooks.ts';
import { type ExistingWebhook, subscribesTo, webhook } from '../../domain/webhook/webhook.ts';
import { createSemaphore, type Logger, pause, StartRefused, type System } from '../../lib/async/async.ts';
import type { FeedEvent, FeedPage, ReadFeed } from '../../projections/events/queries.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';
import {
  createEndpoints,
  type Endpoints,
  type OwedPage,
  owedBy,
  owedDelivery,
  passing,
  type ReadyEndpoint,
  type ReadyEndpoints,
} from './endpoints.ts';

/**
 * Records what webhook endpoints are owed: a row for each endpoint and customer event, in the transaction that moves the
 * checkpoint. An organization that is owed much at once gets a row for each event alone, and `distributeEvents` makes
 * its deliveries later: its fan-out does not delay what others are owed. Moving the checkpoint also decides which process
 * leads (`Leadership`).
 */

/**
 * Reacts to events of the log, in its order. It gets every event at least once: a second time it must change nothing. When
 * it fails, it gets the same events again.
 * @param endpoints webhook endpoints as they stand after these events.
 */
export type Reaction = (events: readonly RecordedEvent[], endpoints: Endpoints) => Promise<void>;

/** A reaction that looks at no endpoints. */
export type EventsReaction = (events: readonly RecordedEvent[]) => Promise<void>;

/** One reaction after the other. */
export const inTurn =
  (reactions: readonly Reaction[]): Reaction =>
  async (events, endpoints) => {
    for (const react of reactions) await react(events, endpoints);
  };

interface RecordWebhookDeliveries {
  readonly store: Pick<EventStore, 'logId' | 'readAll' | 'subscribe'>;
  readonly contents: Pick<Contents, 'heads'>;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly leadership: Leadership;
  /** Called by the leader before the checkpoint moves past the events. */
  readonly react: Reaction;
  readonly system: System;
  readonly logger: Logger;
  /** Called when these endpoints are owed something new. */
  onOwed(endpoints: readonly ReadyEndpoint[]): void;
}

const NOTHING: OwedPage = { owed: [], owedLater: [] };
/** How often the checkpoint moves past what owes nothing: less often, more is read again after a start. */
const CHECKPOINT_EVERY_MS = 1000;
/** How often a follower reads the checkpoint: longer than the above, or two processes would take turns. */
const FOLLOWER_LOOK_MS = 3000;

/** The endpoints as they stood at a position. */
const endpointsAt = async (
  store: RecordWebhookDeliveries['store'],
  position: Position,
  signal: AbortSignal,
): Promise<Endpoints> => {
  const endpoints = createEndpoints();
  // No event of this family is superseded: a copied log holds all of them.
  for await (const { events } of readFamilies(store, { categories: [webhook.category], to: position, signal })) {
    for (const event of events) if (event.position <= position) endpoints.apply(event);
  }
  return endpoints;
};

/** How far this log has been recorded. @throws {StartRefused} webhook deliveries were recorded from another log. */
export const requireRecordedFrom = async (
  webhookDeliveries: Pick<WebhookDeliveries, 'checkpoint'>,
  logId: string,
): Promise<RecordingCheckpoint | null> => {
  const checkpoint = await webhookDeliveries.checkpoint();
  if (checkpoint === null || checkpoint.logId === logId) return checkpoint;
  throw new StartRefused(
    `webhook deliveries belong to log ${checkpoint.logId}, but this is log ${logId}: connect that log, or continue at the end of this one with "outbox projections rebuild webhook-recording"`,
  );
};

/** Waits until the checkpoint stands still: its leader is gone. */
const waitForLeadership = async (
  { webhookDeliveries, system }: RecordWebhookDeliveries,
  signal: AbortSignal,
): Promise<void> => {
  let known = await webhookDeliveries.checkpoint();
  while (!signal.aborted) {
    await pause(system, FOLLOWER_LOOK_MS, signal);
    const now = await webhookDeliveries.checkpoint();
    if (now?.position === known?.position) return;
    known = now;
  }
};

/** Both resolve to false when another process has moved the checkpoint; nothing was recorded then. */
interface Recorder {
  /** Records what a page owes, and moves the checkpoint if it owes anything. */
  apply(page: Page): Promise<boolean>;
  /** Moves the checkpoint past pages that owe nothing. */
  moveOn(): Promise<boolean>;
}

const createRecorder = async (
  deps: RecordWebhookDeliveries,
  checkpoint: Position | null,
  signal: AbortSignal,
): Promise<Recorder> => {
  const { store, webhookDeliveries, system } = deps;
  const logId = await store.logId();
  const endpoints = await endpointsAt(store, checkpoint ?? LOG_START, signal);
  const oneAtATime = createSemaphore({ capacity: 1 });
  let from = checkpoint;
  let applied = checkpoint;

  const moveTo = async (to: Position, owed: OwedPage): Promise<boolean> => {
    if (!(await webhookDeliveries.record({ logId, from, to, ...owed, now: system.now() }))) return false;
    from = to;
    return true;
  };

  const apply = async ({ events, position }: Page): Promise<boolean> => {
    const page = await owedBy(deps.contents, endpoints, events);
    await deps.react(events, endpoints);
    if (page.owed.length + page.owedLater.length > 0) {
      if (!(await moveTo(position, page))) return false;
      deps.onOwed(page.owed.map(({ webhookId, event: { organizationId } }) => ({ webhookId, organizationId })));
    }
    // Not before: a page that could not be recorded must not be moved past.
    applied = position;
    return true;
  };

  return {
    apply: (page) => oneAtATime.run(() => apply(page)),
    moveOn: () => oneAtATime.run(async () => (applied === null || applied === from ? true : moveTo(applied, NOTHING))),
  };
};

const lead = async (
  deps: RecordWebhookDeliveries,
  checkpoint: Position | null,
  signal: AbortSignal,
  working: () => void,
): Promise<void> => {
  const recorder = await createRecorder(deps, checkpoint, signal);
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const applyAll = async (): Promise<void> => {
    for await (const page of deps.store.subscribe(checkpoint ?? LOG_START, {}, either)) {
      if (!(await recorder.apply(page))) return;
      working();
    }
  };
  const keepMoving = async (): Promise<void> => {
    while (!either.aborted && (await recorder.moveOn())) await pause(deps.system, CHECKPOINT_EVERY_MS, either);
  };
  const ended = await Promise.allSettled([applyAll(), keepMoving()].map((each) => each.finally(() => over.abort())));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
};

/** The process that moves the checkpoint leads; all others follow, and take over when it stands still. */
export const recordWebhookDeliveries =
  (deps: RecordWebhookDeliveries): Work =>
  async (signal, working) => {
    const logId = await deps.store.logId();
    while (!signal.aborted) {
      const checkpoint = await requireRecordedFrom(deps.webhookDeliveries, logId);
      deps.leadership.lead();
      await lead(deps, checkpoint?.position ?? null, signal, working);
      deps.logger.debug({}, 'another process is the leader');
      deps.leadership.follow();
      await waitForLeadership(deps, signal);
    }
  };

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

/**
 * Makes the deliveries of events that were recorded without them, because their organization was owed much at once:
 * organizations take turns, and the work rests between turns.
 */
interface DistributeEvents {
  readonly webhookDeliveries: Pick<WebhookDeliveries, 'owedEvents' | 'distribute'>;
  readonly readyEndpoints: Pick<ReadyEndpoints, 'add'>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** How late a fan-out begins. Each look at nothing costs one small query. */
const DISTRIBUTE_EVERY_MS = 250;
/** Deliveries of one turn. More: others wait longer for theirs. Fewer: a statement for less. */
const DELIVERIES_MAX = 500;
/** Rest after a turn, in times of what it took. Less slows claims and records, more takes longer. */
const REST_SHARE = 1;

/** Deliveries from those that were made to this number of them. */
const owedBetween = ({ events, webhookIds, made }: StoredOwedEvents, to: number): readonly OwedDelivery[] =>
  Array.from({ length: to - made }, (_, index) => {
    const number = made + index;
    const event = events[Math.floor(number / webhookIds.length)] as CustomerEvent; // `to` is within
    return owedDelivery(event, webhookIds[number % webhookIds.length] as string);
  });

export const distributeEvents = ({ webhookDeliveries, readyEndpoints, leadership, system }: DistributeEvents): Work => {
  let after = '';
  return repeat(system, async () => {
    if (!leadership.isLeader()) return DISTRIBUTE_EVERY_MS;
    const beganMs = system.monotonicMs();
    const events = await webhookDeliveries.owedEvents(after);
    if (events === null) return DISTRIBUTE_EVERY_MS;
    after = events.organizationId;
    const to = Math.min(events.made + DELIVERIES_MAX, events.events.length * events.webhookIds.length);
    const owed = owedBetween(events, to);
    const isLast = to === events.events.length * events.webhookIds.length;
    await webhookDeliveries.distribute({ of: events, owed, isLast, now: system.now() });
    const { organizationId } = events;
    readyEndpoints.add(owed.map(({ webhookId }) => ({ webhookId, organizationId })));
    return (system.monotonicMs() - beganMs) * REST_SHARE;
  });
};
