import {
  type EventStore,
  LOG_START,
  type Page,
  type Position,
  type RecordedEvent,
  readFamilies,
} from '../../domain/kernel/event-store.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import type { RecordingCheckpoint, WebhookDeliveries } from '../../domain/ports/webhooks.ts';
import { webhook } from '../../domain/webhook/webhook.ts';
import { createSemaphore, type Logger, pause, StartRefused, type System } from '../../lib/async/async.ts';
import type { Leadership } from '../leadership.ts';
import type { Work } from '../supervise.ts';
import { createEndpoints, type Endpoints, type OwedPage, owedBy, type ReadyEndpoint } from './endpoints.ts';

/**
 * Records what webhook endpoints are owed: a row for each endpoint and customer event, in the transaction that moves the
 * checkpoint. An organization that is owed much at once gets a row for each event alone, and `distribute-events.ts` makes
 * its deliveries later: its fan-out does not delay what others are owed. Moving the checkpoint also decides which process
 * leads (`leadership.ts`).
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

export interface RecordWebhookDeliveries {
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
    `webhook deliveries were recorded from log ${checkpoint.logId}, and this is log ${logId}: connect the log they belong to, or let them go on at the end of this one with "npm run outbox -- projections rebuild webhook-recording"`,
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
      deps.logger.debug({}, 'another process leads; this one follows');
      deps.leadership.follow();
      await waitForLeadership(deps, signal);
    }
  };
