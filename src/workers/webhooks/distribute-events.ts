import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import type { OwedDelivery, StoredOwedEvents, WebhookDeliveries } from '../../domain/ports/webhooks.ts';
import type { System } from '../../lib/async/async.ts';
import { type Leadership, repeat, type Work } from '../supervise.ts';
import { owedDelivery, type ReadyEndpoints } from './endpoints.ts';

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
const EVERY_MS = 250;
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
    if (!leadership.isLeader()) return EVERY_MS;
    const beganMs = system.monotonicMs();
    const events = await webhookDeliveries.owedEvents(after);
    if (events === null) return EVERY_MS;
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
