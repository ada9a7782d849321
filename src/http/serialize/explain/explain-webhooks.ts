import type { WebhookDelivery, WebhookTry } from '../../../domain/ports/webhook-deliveries.ts';
import { actorOf } from './explain-actor.ts';
import { atTime, type ExplainedStep, type View } from './explanation.ts';

/** Endpoints that get nothing until they are enabled or adopted. */
export type DisabledWebhooks = ReadonlySet<string>;

const POSTER = actorOf('worker:post-webhooks');

const answered = (webhookId: string, { status, durationMs }: WebhookTry): string =>
  status === null
    ? `it did not answer after ${Math.round(durationMs)} ms (GET /v1/webhooks/${webhookId}/deliveries says why)`
    : `it answered ${status} after ${Math.round(durationMs)} ms`;

const nextOf = ({ dueAt, webhookId }: WebhookDelivery, disabled: DisabledWebhooks): string => {
  if (disabled.has(webhookId)) return 'It waits because the endpoint is disabled or paused.';
  return dueAt === null ? '' : `The next attempt is at ${atTime(dueAt.toISOString())}.`;
};

const afterLast = (delivery: WebhookDelivery, disabled: DisabledWebhooks): string => {
  switch (delivery.state) {
    case 'delivered':
      return 'It is complete.';
    case 'failed':
      return 'It is not tried again.';
    case 'pending':
      return nextOf(delivery, disabled);
    default:
      return delivery.state satisfies never;
  }
};

const aboutWhom = ({ event }: WebhookDelivery, view: View): string =>
  event.recipientId === null ? '' : ` of ${view.nameOf([event.recipientId])}`;

const stepsOf = (delivery: WebhookDelivery, view: View, disabled: DisabledWebhooks): readonly ExplainedStep[] => {
  const { webhookId, event, tries, createdAt, dueAt } = delivery;
  const facts = { webhook_id: webhookId, event_id: event.id, event_type: event.type };
  const recipient = event.recipientId === null ? {} : { recipient: view.recipientOf(event.recipientId) };
  const next = delivery.state === 'pending' && dueAt !== null ? { next_attempt_at: dueAt.toISOString() } : {};
  const what = `${event.type}${aboutWhom(delivery, view)}`;
  if (tries.length === 0) {
    const sentence = `Endpoint ${webhookId} waits for ${what}. ${afterLast(delivery, disabled)}`.trimEnd();
    const about = { at: createdAt.toISOString(), actor: POSTER, type: 'webhook_owed', sentence } as const;
    return [{ ...about, ...recipient, facts: { ...facts, ...next } }];
  }
  return tries.map((tried, index): ExplainedStep => {
    const isLast = index === tries.length - 1;
    const then = isLast ? ` ${afterLast(delivery, disabled)}` : '';
    const sentence = `Endpoint ${webhookId} was sent ${what}: ${answered(webhookId, tried)}.${then}`.trimEnd();
    const took = { attempt: index + 1, status: tried.status, duration_ms: Math.round(tried.durationMs) };
    const about = { at: tried.at.toISOString(), actor: POSTER, type: 'webhook_tried', sentence } as const;
    return { ...about, ...recipient, facts: { ...facts, ...took, ...(isLast ? next : {}) } };
  });
};

/** Webhook attempts for this message's events, oldest first. */
export const explainWebhooks = (
  deliveries: readonly WebhookDelivery[],
  view: View,
  disabled: DisabledWebhooks,
): readonly ExplainedStep[] =>
  deliveries
    .flatMap((delivery) => stepsOf(delivery, view, disabled))
    .sort((left, right) => (left.at === right.at ? 0 : left.at < right.at ? -1 : 1));
