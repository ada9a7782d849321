import { LRUCache } from 'lru-cache';
import { disableWebhook } from '../../commands/webhook.ts';
import { sha256Hex } from '../../domain/kernel/digest.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import type {
  ClaimedDelivery,
  FinishedTry,
  WebhookAnswer,
  WebhookDeliveries,
  WebhookTarget,
} from '../../domain/ports/webhooks.ts';
import type { WebhookFormat } from '../../domain/webhook/events.ts';
import { asSvix } from '../../domain/webhook/resend.ts';
import { signSendgrid } from '../../domain/webhook/sendgrid.ts';
import {
  type ExistingWebhook,
  isSignedForSendgrid,
  POST_HEADERS,
  REPLAY_HEADER,
  signWebhook,
  webhookRetryWaitMs,
  webhookTimestamp,
} from '../../domain/webhook/webhook.ts';
import { ownTurn, random, retry, type System } from '../../lib/async/async.ts';

/** One post: its times, its signature, when it is retried, and when its endpoint is disabled. */

/** Time-out of one post, and the lease during which no other process may make it. */
export interface WebhookTimes {
  /** A receiver that takes longer gets the event again (api.md, Webhooks). */
  readonly postMs: number;
  /** For the record of a post: shorter posts twice when the database is slow, longer delays what a crash lost. */
  readonly recordMs: number;
  /** Longer than both together, by what may wait in the queue; longer delays what a crash lost. */
  readonly leaseMs: number;
}

export const WEBHOOK_TIMES: WebhookTimes = { postMs: 15_000, recordMs: 10_000, leaseMs: 60_000 };

/** How long after its claim a post may still start, so that its answer and its record are in time. */
export const startWithinMs = ({ postMs, recordMs, leaseMs }: WebhookTimes): number => leaseMs - postMs - recordMs;

/** Everything that one post needs. */
export interface PreparedPost {
  readonly delivery: ClaimedDelivery;
  readonly url: string;
  readonly format?: WebhookFormat | undefined;
  /** `whsec_…`; each signs. */
  readonly secrets: readonly string[];
  /** The customer's own headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The very bytes that are signed; or, if they are many, what makes them when there is memory for them. */
  readonly body: PostBody | LargeBody;
}

export interface PostBody {
  readonly content: string | Uint8Array;
  /** Absent: JSON. */
  readonly contentType?: string;
}

/** Makes a body and uses it. @returns null, without use, if `isLate` when there is memory, or when it is made. */
export type LargeBody = <Result>(
  isLate: () => boolean,
  use: (body: PostBody) => Promise<Result>,
) => Promise<Result | null>;

export interface PostWebhook {
  readonly webhookTarget: WebhookTarget;
  readonly webhookTimes: WebhookTimes;
  readonly system: System;
}

/** RFC 9110 §15.5.11: the endpoint does not come back, and nothing is posted there again. */
export const GONE = 410;

export const isSuccess = ({ status }: WebhookAnswer): boolean => status !== null && status >= 200 && status < 300;

const stateAfter = (answer: WebhookAnswer, attempt: number, system: System): Pick<FinishedTry, 'state' | 'dueAt'> => {
  const now = system.now();
  if (isSuccess(answer)) return { state: 'delivered', dueAt: now };
  const waitMs = answer.status === GONE ? null : webhookRetryWaitMs(attempt, random(system), answer.retryAfterSeconds);
  if (waitMs === null) return { state: 'failed', dueAt: now };
  return { state: 'pending', dueAt: new Date(now.getTime() + waitMs) };
};

/** Making, signing and hashing a longer body each take a turn of the event loop of their own. */
const TURN_CHARACTERS_MAX = 1_000_000;

const turnFor = async (body: string | Uint8Array): Promise<void> => {
  if (body.length > TURN_CHARACTERS_MAX) await ownTurn();
};

/** Signs and posts. Never rejects for reasons of the receiver. */
export const postWebhook = async (
  { webhookTarget, webhookTimes, system }: PostWebhook,
  { delivery, url, format, secrets, headers: own, body: made }: PreparedPost & { readonly body: PostBody },
): Promise<FinishedTry> => {
  const { content: body, contentType } = made;
  const at = system.now();
  const attempt = delivery.attempts + 1;
  const { organizationId } = delivery.event;
  await turnFor(body);
  const signed = signWebhook(secrets, { id: delivery.event.id, at, body });
  const headers = {
    ...own,
    ...POST_HEADERS,
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(delivery.replayId === undefined ? {} : { [REPLAY_HEADER]: delivery.replayId }),
    ...signed,
    ...(isSignedForSendgrid(format) ? signSendgrid(secrets[0] ?? '', { timestamp: webhookTimestamp(at), body }) : {}),
    ...(format === 'resend' ? asSvix(signed) : {}),
  };
  await turnFor(body);
  const answer = await webhookTarget.post({ organizationId, url, headers, body, timeoutMs: webhookTimes.postMs });
  await turnFor(body);
  return {
    deliveryId: delivery.id,
    attempt,
    at,
    request: {
      url,
      headerNames: Object.keys(own),
      bodyBytes: Buffer.byteLength(body),
      bodySha256: sha256Hex(body),
    },
    status: answer.status,
    durationMs: answer.durationMs,
    text: answer.text,
    ...stateAfter(answer, attempt, system),
  };
};

interface DisableEndpoint {
  readonly store: EventStore;
  readonly webhookDeliveries: Pick<WebhookDeliveries, 'failingSince'>;
  readonly system: System;
}

/** How long an endpoint may fail without a success (api.md, Webhooks): longer than the retries of one delivery. */
const FAILING_MS_MAX = 5 * 24 * 3_600_000;
/** How often the start of an endpoint's failures is read: otherwise each failed post would be a query. */
const READ_EVERY_MS = 60_000;
/** About 1 MB. For an endpoint that is forgotten it is read at its next failure. */
const ENDPOINTS_MAX = 10_000;

/** @returns what disables an endpoint when a recorded post shows that it is gone, or has failed for too long. */
export const createDisableEndpoint = (deps: DisableEndpoint) => {
  const { webhookDeliveries, system } = deps;
  /** By the wall clock, like the time for which an endpoint may fail. */
  const readMs = new LRUCache<string, number>({ max: ENDPOINTS_MAX });

  const isTimeToRead = (webhookId: string): boolean => {
    const nowMs = system.now().getTime();
    if (nowMs - (readMs.get(webhookId) ?? Number.NEGATIVE_INFINITY) < READ_EVERY_MS) return false;
    readMs.set(webhookId, nowMs);
    return true;
  };

  const reasonFor = async (
    { webhookId, enabledAt }: ExistingWebhook,
    isGone: boolean,
  ): Promise<'gone' | 'failing' | null> => {
    if (isGone) return 'gone';
    const since = (await webhookDeliveries.failingSince([webhookId])).get(webhookId);
    if (since === undefined) return null;
    const sinceMs = Math.max(since.getTime(), Date.parse(enabledAt));
    return system.now().getTime() - sinceMs >= FAILING_MS_MAX ? 'failing' : null;
  };

  /** @param eventId of the customer's event that was posted. */
  return async (endpoint: ExistingWebhook, { status, state }: FinishedTry, eventId: string): Promise<void> => {
    const { webhookId, organizationId, environment } = endpoint;
    if (state === 'delivered') return;
    const isGone = status === GONE;
    if (!isTimeToRead(webhookId) && !isGone) return;
    const origin = {
      actor: 'worker:post-webhooks',
      organizationId,
      environment,
      requestId: null,
      correlationId: webhookId,
      causationId: eventId,
    };
    await retry(system, async () => {
      const reason = await reasonFor(endpoint, isGone);
      if (reason !== null) await disableWebhook(deps, origin, { webhookId, environment, reason });
    });
  };
};
