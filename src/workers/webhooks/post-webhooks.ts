import { atMost, createBatcher, fulfilled } from '../../async/batcher.ts';
import { retry } from '../../async/retry.ts';
import { pause } from '../../async/with-timeout.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { System } from '../../domain/ports/system.ts';
import type { ClaimedDelivery, FinishedTry, WebhookDeliveries } from '../../domain/ports/webhook-deliveries.ts';
import { serializeEvents } from '../../projections/events/serialize-events.ts';
import type { Work } from '../supervise.ts';
import type { Endpoints } from './endpoints.ts';
import { createGiveUpEndpoint } from './give-up-endpoint.ts';
import { createHungry, type Hungry } from './hungry.ts';
import { createLanes, type Lanes, type Ran } from './lanes.ts';
import { type PostWebhook, type PreparedPost, postWebhook } from './post-webhook.ts';
import { startWithinMs } from './webhook-times.ts';

export interface PostWebhooks extends PostWebhook {
  readonly store: EventStore;
  readonly contents: Pick<Contents, 'heads'>;
  readonly secrets: Pick<Secrets, 'get'>;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly endpoints: Endpoints;
  /** Endpoints that may be owed something: whoever records tells, and lanes that run dry. */
  readonly hungry: Hungry;
  readonly logger: Logger;
}

/** Due retries, lost leases and what other processes recorded are found this late at most. */
const POLL_MS = 500;
/** One round's claims; the heads of their messages are in memory at the same time. */
const CLAIMS_MAX = 512;
/**
 * Endpoints of one round that are not known to take anything. More keep an untried one waiting until all of a round are
 * prepared, fewer cost a claim each.
 */
const PROBED_ENDPOINTS_MAX = 64;
const RESULTS_MAX = 500;
/** Stopping: a receiver that takes longer is told again after the lease. */
const STOP_GRACE_MS = 6000;

/** One try, and then its record; what cannot be recorded is told again after its lease (at least once). */
const createRun = (deps: PostWebhooks): ((post: PreparedPost) => Promise<Ran>) => {
  const { system, logger, webhookDeliveries, endpoints } = deps;
  const giveUpEndpoint = createGiveUpEndpoint(deps);
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
      if (endpoint !== undefined) await giveUpEndpoint(endpoint, { tried, eventId: event.id });
    } catch (error) {
      failed(post, error);
    }
  };

  return async (post) => {
    try {
      const tried = await postWebhook(deps, post);
      return { taken: tried.state === 'delivered', recorded: record(post, tried) };
    } catch (error) {
      failed(post, error);
      return { taken: false, recorded: Promise.resolve() };
    }
  };
};

type Prepare = (delivery: ClaimedDelivery) => Promise<PreparedPost | null>;

/** @returns what prepares one claimed delivery; null: there is nobody to post it to, and it is left to its lease. */
const createPrepare =
  ({ contents, endpoints, logger, secrets }: PostWebhooks): Prepare =>
  async (delivery) => {
    const endpoint = endpoints.get(delivery.webhookId);
    if (endpoint === undefined) return null; // disabled or deleted a moment ago
    // Concurrent callers of both share queries.
    const [[presented], secret] = await Promise.all([
      serializeEvents(contents, [delivery.event]),
      secrets.get(endpoint.secretId),
    ]);
    if (secret !== undefined) return { delivery, url: endpoint.url, secret, body: JSON.stringify(presented) };
    logger.error({ webhookId: delivery.webhookId }, 'the vault holds no signing secret of this webhook');
    return null;
  };

/** Claims for some endpoints and puts the posts into their lanes. @returns endpoints that have more. */
const createClaim = (
  deps: PostWebhooks,
  lanes: Lanes,
): ((webhookIds: readonly string[]) => Promise<readonly string[]>) => {
  const { webhookDeliveries, webhookTimes, endpoints, system, logger } = deps;
  const prepare = createPrepare(deps);

  /** Due again at once rather than after their lease: nobody has tried them. */
  const release = async (unprepared: readonly ClaimedDelivery[], err: unknown): Promise<void> => {
    const count = unprepared.length;
    if (err !== undefined) logger.warn({ count, err }, 'webhooks could not be prepared, and are claimed again');
    const ids = unprepared.map(({ id }) => id);
    await retry(system, () => webhookDeliveries.release(ids, system.now()));
  };

  /** Each for itself: what fails takes no other's claim with it. */
  const prepareAll = async (claimed: readonly ClaimedDelivery[]): Promise<void> => {
    const unprepared: ClaimedDelivery[] = [];
    let fault: unknown;
    const one = async (delivery: ClaimedDelivery): Promise<void> => {
      try {
        const post = await prepare(delivery);
        if (post !== null && !lanes.add(post)) unprepared.push(delivery); // stopping
      } catch (error) {
        unprepared.push(delivery);
        fault ??= error;
      }
    };
    await Promise.all(claimed.map(one));
    if (unprepared.length > 0) await release(unprepared, fault);
  };

  return async (webhookIds) => {
    const share = Math.max(1, Math.floor(CLAIMS_MAX / webhookIds.length));
    const wanted = webhookIds
      .filter((webhookId) => endpoints.get(webhookId) !== undefined)
      .map((webhookId) => ({ webhookId, limit: Math.min(share, lanes.room(webhookId)) }))
      .filter(({ limit }) => limit > 0);
    if (wanted.length === 0) return [];
    const now = system.now();
    const leaseUntil = new Date(now.getTime() + webhookTimes.leaseMs);
    const claimed = await webhookDeliveries.claim(wanted, { now, leaseUntil });
    await prepareAll(claimed);
    const counts = Object.groupBy(claimed, ({ webhookId }) => webhookId);
    return wanted.flatMap(({ webhookId, limit }) => (counts[webhookId]?.length === limit ? [webhookId] : []));
  };
};

export interface PostingWebhooks {
  /** Posts to endpoints that take what they get. */
  readonly posting: Work;
  /** Finds out which of the others take something: theirs is a loop of its own, which the first waits for in nothing. */
  readonly probing: Work;
}

/**
 * Posts what endpoints are owed, each in a lane of its own. The rows themselves are the queue: claiming leases them, and
 * a lease that is lost is due again.
 */
export const createPostWebhooks = (deps: PostWebhooks): PostingWebhooks => {
  const { system, hungry, endpoints, webhookDeliveries, webhookTimes } = deps;
  /** Endpoints whose last claim took all it was allowed to. */
  const haveMore = new Set<string>();
  const lanes = createLanes({
    system,
    run: createRun(deps),
    onHungry: (webhookId) => {
      if (haveMore.delete(webhookId)) hungry.add([webhookId]);
    },
    startWithinMs: startWithinMs(webhookTimes),
  });
  const claim = createClaim(deps, lanes);
  const toProbe = createHungry();

  const claimFor = async (webhookIds: readonly string[], endpointsMax: number, signal: AbortSignal): Promise<void> => {
    for (let from = 0; from < webhookIds.length && !signal.aborted; from += endpointsMax) {
      for (const id of await claim(webhookIds.slice(from, from + endpointsMax))) haveMore.add(id);
    }
  };

  const posting: Work = async (signal, working) => {
    let polledMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      const isTime = system.monotonicMs() - polledMs >= POLL_MS;
      if (isTime) {
        hungry.add([...endpoints.enabled()].map(({ webhookId }) => webhookId));
        polledMs = system.monotonicMs();
      }
      const { true: taking = [], false: others = [] } = Object.groupBy(hungry.take(), (webhookId) =>
        lanes.isTaking(webhookId) ? 'true' : 'false',
      );
      toProbe.add(others);
      await claimFor(taking, CLAIMS_MAX, signal);
      working();
      await wakeUp(system, hungry, signal);
    }
    const notBegun = await lanes.windDown(STOP_GRACE_MS);
    if (notBegun.length > 0) await webhookDeliveries.release(notBegun, system.now());
  };

  const probing: Work = async (signal, working) => {
    while (!signal.aborted) {
      await claimFor(toProbe.take(), PROBED_ENDPOINTS_MAX, signal);
      working();
      await wakeUp(system, toProbe, signal);
    }
  };

  return { posting, probing };
};

/** Something to do, or time to look for it. */
const wakeUp = async (system: System, hungry: Hungry, signal: AbortSignal): Promise<void> => {
  const woken = new AbortController();
  await Promise.race([hungry.wait(), pause(system, POLL_MS, AbortSignal.any([signal, woken.signal]))]);
  woken.abort();
};
