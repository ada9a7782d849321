import { pause } from '../../async/with-timeout.ts';
import { type EventStore, LOG_START, type Page, type Position } from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import type { RecordingCheckpoint, WebhookDeliveries } from '../../domain/ports/webhook-deliveries.ts';
import { readFamilies } from '../../domain/read-families.ts';
import { StartRefused } from '../../domain/start-refused.ts';
import { webhook } from '../../domain/webhook/webhook.ts';
import type { Duty } from '../duty.ts';
import type { Reaction } from '../reaction.ts';
import type { Work } from '../supervise.ts';
import { createEndpoints, type Endpoints, owedBy } from './endpoints.ts';

export interface RecordWebhookDeliveries {
  readonly store: Pick<EventStore, 'logId' | 'readAll' | 'subscribe'>;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly duty: Duty;
  /** What else follows from events: done before the checkpoint moves past them, by whoever is on duty. */
  readonly react: Reaction;
  readonly system: System;
  readonly logger: Logger;
  /** Called when these endpoints are owed something new. */
  onOwed(webhookIds: ReadonlySet<string>): void;
}

/** Where nothing is owed the checkpoint moves this often: less often, more is read again after a start. */
const CHECKPOINT_EVERY_MS = 1000;
/** One process records, others watch whether it goes on: longer than the above, or two would take turns. */
const STANDBY_LOOK_MS = 3000;

/** The endpoints as they stood at a position: all their events up to there. */
const endpointsAt = async (
  store: RecordWebhookDeliveries['store'],
  position: Position,
  signal: AbortSignal,
): Promise<Endpoints> => {
  const endpoints = createEndpoints();
  // None of this family is superseded: a copy holds all of its events, as they were at any position.
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

/** Until nobody moves the checkpoint any more. */
const standBy = async ({ webhookDeliveries, system }: RecordWebhookDeliveries, signal: AbortSignal): Promise<void> => {
  let known = await webhookDeliveries.checkpoint();
  while (!signal.aborted) {
    await pause(system, STANDBY_LOOK_MS, signal);
    const now = await webhookDeliveries.checkpoint();
    if (now?.position === known?.position) return;
    known = now;
  }
};

/** Follows the log from the checkpoint until somebody else moves it. */
const follow = async (
  deps: RecordWebhookDeliveries,
  { logId, checkpoint }: { readonly logId: string; readonly checkpoint: Position | null },
  signal: AbortSignal,
  working: () => void,
): Promise<void> => {
  const { store, webhookDeliveries, system } = deps;
  let from = checkpoint;
  let movedMs = system.monotonicMs();
  const endpoints = await endpointsAt(store, from ?? LOG_START, signal);

  /** @returns whether this process is still the one that records. */
  const record = async ({ events, position: to }: Page): Promise<boolean> => {
    const owed = owedBy(endpoints, events);
    await deps.react(events);
    if (owed.length === 0 && system.monotonicMs() - movedMs < CHECKPOINT_EVERY_MS) return true;
    if (!(await webhookDeliveries.record({ logId, from, to, owed, now: system.now() }))) return false;
    from = to;
    movedMs = system.monotonicMs();
    if (owed.length > 0) deps.onOwed(new Set(owed.map(({ webhookId }) => webhookId)));
    return true;
  };

  for await (const page of store.subscribe(from ?? LOG_START, {}, signal)) {
    if (!(await record(page))) return;
    working();
  }
};

/**
 * Turns the log into what webhook endpoints are owed: a row for each endpoint and customer event, in the transaction
 * that moves the checkpoint. Several processes may run it: one records, the others stand by.
 */
export const recordWebhookDeliveries =
  (deps: RecordWebhookDeliveries): Work =>
  async (signal, working) => {
    const logId = await deps.store.logId();
    while (!signal.aborted) {
      const checkpoint = await requireRecordedFrom(deps.webhookDeliveries, logId);
      deps.duty.take();
      await follow(deps, { logId, checkpoint: checkpoint?.position ?? null }, signal, working);
      deps.logger.debug({}, 'another process is on duty; this one stands by');
      deps.duty.standBy();
      await standBy(deps, signal);
    }
  };
