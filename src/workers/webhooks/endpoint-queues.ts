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
import { signSendgrid } from '../../domain/webhook/sendgrid.ts';
import {
  type ExistingWebhook,
  POST_HEADERS,
  REPLAY_HEADER,
  signWebhook,
  webhookRetryWaitMs,
  webhookTimestamp,
} from '../../domain/webhook/webhook.ts';
import {
  atMost,
  createBatcher,
  createKeyedQueue,
  createSemaphore,
  fulfilled,
  type Logger,
  pause,
  type Ran,
  random,
  retry,
  type Semaphore,
  type System,
} from '../../lib/async/async.ts';
import type { Endpoints, ReadyEndpoint } from './endpoints.ts';

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
  /** JSON, the very text that is signed. */
  readonly body: string;
}

export interface PostWebhook {
  readonly webhookTarget: WebhookTarget;
  readonly webhookTimes: WebhookTimes;
  readonly system: System;
}

/** RFC 9110 §15.5.11: the endpoint does not come back, and nothing is posted there again. */
const GONE = 410;

const isSuccess = ({ status }: WebhookAnswer): boolean => status !== null && status >= 200 && status < 300;

const stateAfter = (answer: WebhookAnswer, attempt: number, system: System): Pick<FinishedTry, 'state' | 'dueAt'> => {
  const now = system.now();
  if (isSuccess(answer)) return { state: 'delivered', dueAt: now };
  const waitMs = answer.status === GONE ? null : webhookRetryWaitMs(attempt, random(system), answer.retryAfterSeconds);
  if (waitMs === null) return { state: 'failed', dueAt: now };
  return { state: 'pending', dueAt: new Date(now.getTime() + waitMs) };
};

/** Signs and posts. Never rejects for reasons of the receiver. */
export const postWebhook = async (
  { webhookTarget, webhookTimes, system }: PostWebhook,
  { delivery, url, format, secrets, headers: own, body }: PreparedPost,
): Promise<FinishedTry> => {
  const at = system.now();
  const attempt = delivery.attempts + 1;
  const { organizationId } = delivery.event;
  const headers = {
    ...own,
    ...POST_HEADERS,
    ...(delivery.replayId === undefined ? {} : { [REPLAY_HEADER]: delivery.replayId }),
    ...signWebhook(secrets, { id: delivery.event.id, at, body }),
    ...(format === 'sendgrid' ? signSendgrid(secrets[0] ?? '', { timestamp: webhookTimestamp(at), body }) : {}),
  };
  const answer = await webhookTarget.post({ organizationId, url, headers, body, timeoutMs: webhookTimes.postMs });
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

/**
 * A queue per endpoint of claimed posts, so that a slow endpoint delays itself only. How much may be claimed for an
 * endpoint follows from its last answer. What one organization may have claimed, and post at the same time, is bounded:
 * its hanging endpoints use up its own share.
 */
export interface EndpointQueues {
  add(post: PreparedPost): void;
  /** Those with room, in the order of their turns: the one that was claimed for longest ago comes first. */
  inTurn<Endpoint extends ReadyEndpoint>(endpoints: Iterable<Endpoint>): readonly Endpoint[];
  /** Divides what may be claimed among endpoints, in their order: each gets `share` at most. */
  allot(endpoints: readonly ReadyEndpoint[], share: number): readonly Allotment[];
  isSucceeding(webhookId: string): boolean;
  /** Starts nothing new, waits for what is under way up to `limitMs`. @returns ids of what was not started. */
  close(limitMs: number): Promise<readonly string[]>;
}

/** Deliveries that may be claimed for an endpoint. */
interface Allotment extends ReadyEndpoint {
  readonly limit: number;
}

interface EndpointQueuesParts extends PostWebhook {
  readonly store: EventStore;
  readonly webhookDeliveries: Pick<WebhookDeliveries, 'finish' | 'failingSince'>;
  readonly endpoints: Pick<Endpoints, 'get'>;
  readonly logger: Logger;
  /** An endpoint that succeeds has few posts waiting. */
  onLow(endpoint: ReadyEndpoint): void;
}

const RESULTS_MAX = 500;
/** Posts to one endpoint at a time. More is a flood to a small receiver, fewer waits for round trips to a distant one. */
const CONCURRENCY = 8;
/** Waiting posts below which more are claimed, so that a fast receiver never waits for a claim. */
const REFILL_BELOW = 64;

type Health = 'untried' | 'succeeding' | 'failing';

/**
 * Deliveries claimed for an endpoint at a time, by its last answer. Succeeding: more wait out their lease behind a slow
 * receiver, fewer cost a claim each. Untried or failing: each may hold a socket and a claim for the whole time-out; one
 * post until one succeeds, however much is owed.
 */
const CLAIMED_MAX: Readonly<Record<Health, number>> = { untried: 1, succeeding: 128, failing: 1 };
/**
 * Posts of one organization at the same time. More: tenants with hanging endpoints use up the sockets of the process. Fewer:
 * a busy tenant with many endpoints waits for its own.
 */
const POSTS_PER_ORGANIZATION = 128;
/**
 * Deliveries claimed for the endpoints of one organization that are not known to succeed. More leaves its others fewer posts.
 * Fewer than the webhooks that it may have (`WEBHOOKS_MAX_DEFAULT`): a new one waits for those that hang.
 */
const PROBES_PER_ORGANIZATION = 64;
/** Deliveries claimed for one organization. More: their events fill the memory. Fewer: a busy tenant waits for claims. */
const CLAIMED_PER_ORGANIZATION = 1_024;

interface QueuedPost extends PreparedPost {
  readonly queuedMs: number;
}

export const createEndpointQueues = (deps: EndpointQueuesParts): EndpointQueues => {
  const { system, webhookTimes, onLow } = deps;
  const health = new Map<string, Health>();
  /** When each endpoint was last claimed for, as a number that rises. */
  const claimedAt = new Map<string, number>();
  const claims = createClaims();
  /** One for each organization with endpoints, which are in memory too. */
  const posts = new Map<string, Semaphore>();
  const notStarted: string[] = [];
  const run = createRun(deps);
  let turn = 0;

  const postsOf = (organizationId: string): Semaphore => {
    const semaphore = posts.get(organizationId) ?? createSemaphore({ capacity: POSTS_PER_ORGANIZATION });
    posts.set(organizationId, semaphore);
    return semaphore;
  };

  const queue = createKeyedQueue<QueuedPost, 'any'>({
    priorities: ['any'],
    concurrency: Number.POSITIVE_INFINITY,
    concurrencyOf: () => CONCURRENCY,
    waitMsOf: () => 0,
    capacityOf: () => Number.POSITIVE_INFINITY,
    started: () => undefined,
    // Each claim is an item of its own: the previous one may be too old to start.
    idOf: ({ delivery: { id }, queuedMs }) => `${id} ${queuedMs}`,
    run: (post, webhookId) =>
      postsOf(organizationOf(post)).run(async () => {
        // Skip a post that waited too long: its lease may have ended, and another process may have claimed it.
        if (post.queuedMs < system.monotonicMs() - startWithinMs(webhookTimes)) return { done: Promise.resolve() };
        const { succeeded, done } = await run(post);
        health.set(webhookId, succeeded ? 'succeeding' : 'failing');
        return { done };
      }),
    system,
  });

  const healthOf = (webhookId: string): Health => health.get(webhookId) ?? 'untried';

  const enqueue = async (post: PreparedPost): Promise<void> => {
    const { id, webhookId } = post.delivery;
    const organizationId = organizationOf(post);
    const done = claims.add(organizationId, healthOf(webhookId));
    const started = await queue.add({ ...post, queuedMs: system.monotonicMs() }, webhookId, 'any');
    done();
    if (!started) notStarted.push(id);
    else if (queue.waiting(webhookId) < REFILL_BELOW && healthOf(webhookId) === 'succeeding')
      onLow({ webhookId, organizationId });
  };

  const roomOf = (webhookId: string): number => CLAIMED_MAX[healthOf(webhookId)] - queue.size(webhookId);

  const inTurn = <Endpoint extends ReadyEndpoint>(endpoints: Iterable<Endpoint>): readonly Endpoint[] =>
    [...endpoints]
      .filter(({ webhookId }) => roomOf(webhookId) > 0)
      .sort((one, other) => (claimedAt.get(one.webhookId) ?? 0) - (claimedAt.get(other.webhookId) ?? 0));

  const allot = (endpoints: readonly ReadyEndpoint[], share: number): readonly Allotment[] => {
    /** Claims left to each organization. */
    const left = new Map<string, Record<Kind, number>>();
    return endpoints.flatMap(({ webhookId, organizationId }) => {
      const own = left.get(organizationId) ?? claims.left(organizationId);
      left.set(organizationId, own);
      const kind = kindOf(healthOf(webhookId));
      const limit = Math.min(share, own[kind], roomOf(webhookId));
      if (limit <= 0) return [];
      own[kind] -= limit;
      turn += 1;
      claimedAt.set(webhookId, turn);
      return [{ webhookId, organizationId, limit }];
    });
  };

  return {
    add: (post) => void enqueue(post),
    inTurn,
    allot,
    isSucceeding: (webhookId) => healthOf(webhookId) === 'succeeding',
    close: async (limitMs) => {
      const over = new AbortController();
      await Promise.race([queue.close(), pause(system, limitMs, over.signal)]);
      over.abort();
      return notStarted;
    },
  };
};

const organizationOf = ({ delivery }: PreparedPost): string => delivery.event.organizationId;

type Kind = 'probes' | 'posts';
const kindOf = (health: Health): Kind => (health === 'succeeding' ? 'posts' : 'probes');
const CLAIMS_MAX: Readonly<Record<Kind, number>> = {
  probes: PROBES_PER_ORGANIZATION,
  posts: CLAIMED_PER_ORGANIZATION,
};

/** Counts what each organization has claimed. */
const createClaims = () => {
  const counts = new Map<string, Record<Kind, number>>();
  return {
    /** @returns what ends the claim. */
    add: (organizationId: string, health: Health): (() => void) => {
      const kind = kindOf(health);
      const count = counts.get(organizationId) ?? { probes: 0, posts: 0 };
      counts.set(organizationId, count);
      count[kind] += 1;
      return () => {
        count[kind] -= 1;
        if (count.probes + count.posts === 0) counts.delete(organizationId);
      };
    },
    left: (organizationId: string): Record<Kind, number> => {
      const { probes, posts } = counts.get(organizationId) ?? { probes: 0, posts: 0 };
      return { probes: CLAIMS_MAX.probes - probes, posts: CLAIMS_MAX.posts - posts };
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
    logger.error(
      { delivery: post.delivery.id, err: error },
      'could not post a webhook: it will be retried when its lease ends',
    );

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
