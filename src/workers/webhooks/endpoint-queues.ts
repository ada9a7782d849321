import { atMost, createBatcher, fulfilled } from '../../async/batcher.ts';
import { createKeyedQueue, type Ran } from '../../async/keyed-queue.ts';
import { retry } from '../../async/retry.ts';
import { pause } from '../../async/with-timeout.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { FinishedTry, WebhookDeliveries } from '../../domain/ports/webhook-deliveries.ts';
import type { Endpoints } from './endpoints.ts';
import {
  createDisableEndpoint,
  type PostWebhook,
  type PreparedPost,
  postWebhook,
  startWithinMs,
} from './post-webhook.ts';

/**
 * A queue per endpoint of claimed posts, so that a slow endpoint delays itself only. How much may be claimed for an
 * endpoint follows from its last answer.
 */
export interface EndpointQueues {
  add(post: PreparedPost): void;
  /** Deliveries that may be claimed. */
  room(webhookId: string): number;
  isSucceeding(webhookId: string): boolean;
  /** Starts nothing new, waits for what is under way up to `limitMs`. @returns ids of what was not started. */
  close(limitMs: number): Promise<readonly string[]>;
}

export interface EndpointQueuesParts extends PostWebhook {
  readonly store: EventStore;
  readonly webhookDeliveries: Pick<WebhookDeliveries, 'finish' | 'failingSince'>;
  readonly endpoints: Pick<Endpoints, 'get'>;
  readonly logger: Logger;
  /** An endpoint that succeeds has few posts waiting. */
  onLow(webhookId: string): void;
}

const RESULTS_MAX = 500;
/** Posts to one endpoint at a time. More is a flood to a small receiver, fewer waits for round trips to a distant one. */
const CONCURRENCY = 8;
/** Waiting posts below which more are claimed, so that a fast receiver never waits for a claim. */
const REFILL_BELOW = 64;

type Health = 'untried' | 'succeeding' | 'failing';

/**
 * Deliveries claimed for an endpoint at a time, by its last answer. Succeeding: more wait out their lease behind a slow
 * receiver, fewer cost a claim each. Untried: each may hold a socket and a claim for the whole time-out, and hundreds of
 * dead endpoints must not crowd out the others. Failing: a post each poll until one succeeds, however much is owed.
 */
const CLAIMED_MAX: Readonly<Record<Health, number>> = { untried: 4, succeeding: 128, failing: 1 };

interface QueuedPost extends PreparedPost {
  readonly queuedMs: number;
}

export const createEndpointQueues = (deps: EndpointQueuesParts): EndpointQueues => {
  const { system, webhookTimes, onLow } = deps;
  const health = new Map<string, Health>();
  const notStarted: string[] = [];
  const run = createRun(deps);

  const queue = createKeyedQueue<QueuedPost, 'any'>({
    priorities: ['any'],
    concurrency: Number.POSITIVE_INFINITY,
    concurrencyOf: () => CONCURRENCY,
    waitMsOf: () => 0,
    capacityOf: () => Number.POSITIVE_INFINITY,
    started: () => undefined,
    // Each claim is an item of its own: the previous one may be too old to start.
    idOf: ({ delivery: { id }, queuedMs }) => `${id} ${queuedMs}`,
    run: async (post, webhookId) => {
      // What waited too long is left to its lease: another process may have claimed it.
      if (post.queuedMs < system.monotonicMs() - startWithinMs(webhookTimes)) return { done: Promise.resolve() };
      const { succeeded, done } = await run(post);
      health.set(webhookId, succeeded ? 'succeeding' : 'failing');
      return { done };
    },
    system,
  });

  const healthOf = (webhookId: string): Health => health.get(webhookId) ?? 'untried';

  const enqueue = async (post: PreparedPost): Promise<void> => {
    const { id, webhookId } = post.delivery;
    const started = await queue.add({ ...post, queuedMs: system.monotonicMs() }, webhookId, 'any');
    if (!started) notStarted.push(id);
    else if (queue.waiting(webhookId) < REFILL_BELOW && healthOf(webhookId) === 'succeeding') onLow(webhookId);
  };

  return {
    add: (post) => void enqueue(post),
    room: (webhookId) => Math.max(0, CLAIMED_MAX[healthOf(webhookId)] - queue.size(webhookId)),
    isSucceeding: (webhookId) => healthOf(webhookId) === 'succeeding',
    close: async (limitMs) => {
      const over = new AbortController();
      await Promise.race([queue.close(), pause(system, limitMs, over.signal)]);
      over.abort();
      return notStarted;
    },
  };
};

/** Posts, and then records; what cannot be recorded is posted again after its lease. */
const createRun = (
  deps: EndpointQueuesParts,
): ((post: PreparedPost) => Promise<Ran & { readonly succeeded: boolean }>) => {
  const { system, logger, webhookDeliveries, endpoints } = deps;
  const disableEndpoint = createDisableEndpoint(deps);
  const finished = createBatcher<FinishedTry, void>({
    name: 'the record of webhook posts',
    inFlightMax: 1,
    admission: atMost(RESULTS_MAX),
    run: async (tries) => {
      await webhookDeliveries.finish(tries);
      return fulfilled(tries.map(() => undefined));
    },
  });

  const failed = (post: PreparedPost, error: unknown): void =>
    logger.error({ delivery: post.delivery.id, err: error }, 'a webhook is posted again after its lease');

  const record = async (post: PreparedPost, tried: FinishedTry): Promise<void> => {
    const { webhookId, event } = post.delivery;
    try {
      await retry(system, () => finished.add(tried));
      const endpoint = endpoints.get(webhookId);
      if (endpoint !== undefined) await disableEndpoint(endpoint, tried, event.id);
    } catch (error) {
      failed(post, error);
    }
  };

  return async (post) => {
    try {
      const tried = await postWebhook(deps, post);
      return { succeeded: tried.state === 'delivered', done: record(post, tried) };
    } catch (error) {
      failed(post, error);
      return { succeeded: false, done: Promise.resolve() };
    }
  };
};
