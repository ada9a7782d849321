import type { EventStore } from '../../domain/kernel/event-store.ts';
import type { FinishedTry, WebhookDeliveries } from '../../domain/ports/webhooks.ts';
import {
  atMost,
  createBatcher,
  createKeyedQueue,
  createSemaphore,
  fulfilled,
  type Logger,
  pause,
  type Ran,
  retry,
  type Semaphore,
} from '../../lib/async/async.ts';
import type { Endpoints, ReadyEndpoint } from './endpoints.ts';
import { createDisableEndpoint, type PostWebhook, type PreparedPost, postWebhook, startWithinMs } from './post-once.ts';

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
  const { system, onLow } = deps;
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
        const ran = await run(post);
        if (ran === null) return { done: Promise.resolve() };
        health.set(webhookId, ran.succeeded ? 'succeeding' : 'failing');
        return { done: ran.done };
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

/** Posts. @returns null if it waited too long: its lease may have ended, and another process may have claimed it. */
const postInTime = async (deps: EndpointQueuesParts, post: QueuedPost): Promise<FinishedTry | null> => {
  const { system, webhookTimes } = deps;
  const { body, queuedMs } = post;
  const isLate = () => queuedMs < system.monotonicMs() - startWithinMs(webhookTimes);
  if (isLate()) return null;
  if (typeof body !== 'function') return postWebhook(deps, { ...post, body });
  return body(isLate, (made) => postWebhook(deps, { ...post, body: made }));
};

/** Posts, and then records; what cannot be recorded is posted again after its lease. */
const createRun = (
  deps: EndpointQueuesParts,
): ((post: QueuedPost) => Promise<(Ran & { readonly succeeded: boolean }) | null>) => {
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
      const tried = await postInTime(deps, post);
      if (tried === null) return null;
      return { succeeded: tried.state === 'delivered', done: record(post, tried) };
    } catch (error) {
      failed(post, error);
      return { succeeded: false, done: Promise.resolve() };
    }
  };
};
