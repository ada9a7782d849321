import { random } from '../../domain/jitter.ts';
import type { System } from '../../domain/ports/system.ts';
import type { ClaimedDelivery, FinishedTry } from '../../domain/ports/webhook-deliveries.ts';
import type { WebhookAnswer, WebhookTarget } from '../../domain/ports/webhook-target.ts';
import { signWebhook, webhookRetryWaitMs } from '../../domain/webhook/webhook-delivery.ts';
import type { WebhookTimes } from './webhook-times.ts';

/** Everything one try needs. */
export interface PreparedPost {
  readonly delivery: ClaimedDelivery;
  readonly url: string;
  /** `whsec_…`. */
  readonly secret: string;
  /** JSON, the very text that is signed. */
  readonly body: string;
}

export interface PostWebhook {
  readonly webhookTarget: WebhookTarget;
  readonly webhookTimes: WebhookTimes;
  readonly system: System;
}

/** RFC 9110 §15.5.11: it is not coming back, and nothing is posted there again. */
export const GONE = 410;

const isSuccess = ({ status }: WebhookAnswer): boolean => status !== null && status >= 200 && status < 300;

const stateAfter = (answer: WebhookAnswer, attempt: number, system: System): Pick<FinishedTry, 'state' | 'dueAt'> => {
  const now = system.now();
  if (isSuccess(answer)) return { state: 'delivered', dueAt: now };
  const waitMs = answer.status === GONE ? null : webhookRetryWaitMs(attempt, random(system), answer.retryAfterSeconds);
  if (waitMs === null) return { state: 'failed', dueAt: now };
  return { state: 'pending', dueAt: new Date(now.getTime() + waitMs) };
};

/** One try: signs, posts, and says what came of it. Never fails for reasons of the other side. */
export const postWebhook = async (
  { webhookTarget, webhookTimes, system }: PostWebhook,
  { delivery, url, secret, body }: PreparedPost,
): Promise<FinishedTry> => {
  const at = system.now();
  const attempt = delivery.attempts + 1;
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Outbox-Webhooks/1.0',
    ...signWebhook([secret], { id: delivery.event.id, at, body }),
  };
  const answer = await webhookTarget.post({ url, headers, body, timeoutMs: webhookTimes.postMs });
  return {
    ...{ deliveryId: delivery.id, attempt, at, status: answer.status },
    ...{ durationMs: answer.durationMs, text: answer.text },
    ...stateAfter(answer, attempt, system),
  };
};
