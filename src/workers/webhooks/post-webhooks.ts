import { LRUCache } from 'lru-cache';
import { internalOrigin, load } from '../../commands/execute.ts';
import { carriesContents, pauseWebhook } from '../../commands/webhook.ts';
import { apiKey, isExpired } from '../../domain/api-key/api-key.ts';
import { isBounded } from '../../domain/api-key/caller.ts';
import { allows } from '../../domain/api-key/events.ts';
import type { CustomerEvent } from '../../domain/customer-events/customer-events.ts';
import type { EventStore, RecordedEvent } from '../../domain/kernel/event-store.ts';
import { apiKeyStream, sendingDomainStream } from '../../domain/kernel/streams.ts';
import type { Contents } from '../../domain/ports/contents.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { ClaimedDelivery, WebhookDeliveries } from '../../domain/ports/webhooks.ts';
import { sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import type { WebhookFormat } from '../../domain/webhook/events.ts';
import { carriesMail, type ExistingWebhook, owningKeyId, signingSecretIds } from '../../domain/webhook/webhook.ts';
import { type Logger, pause, retry, type System } from '../../lib/async/async.ts';
import type { Work } from '../supervise.ts';
import { createEndpointQueues, type EndpointQueues } from './endpoint-queues.ts';
import { createReadyEndpoints, type Endpoints, type ReadyEndpoint, type ReadyEndpoints } from './endpoints.ts';
import { createMailBody, type SerializeMail } from './mail-body.ts';
import type { PostWebhook, PreparedPost } from './post-once.ts';
import type { Reaction } from './record-webhook-deliveries.ts';

/**
 * Posts what endpoints are owed: claim, prepare, post, record. The rows of the deliveries are the queue: a claim leases
 * them, and a lease that is lost is due again (at least once). What is claimed waits in a queue per endpoint, so that a
 * slow endpoint delays itself only; how much is claimed for an endpoint follows from its last answer, and for an
 * organization is bounded. Organizations take turns: endpoints of one that hang cost others a share of a claim.
 */
export interface PostWebhooks extends PostWebhook {
  readonly store: EventStore;
  readonly contents: Pick<Contents, 'heads'>;
  readonly secrets: Pick<Secrets, 'get'>;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly endpoints: Endpoints;
  /** Makes the JSON of posts, each with one event and the contents that are found; null: without contents. */
  readonly serializeEvents: (
    contents: Pick<Contents, 'heads'> | null,
    events: readonly CustomerEvent[],
    format?: WebhookFormat,
  ) => Promise<readonly object[]>;
  readonly serializeMail: SerializeMail;
  /** Endpoints that may be owed something: recording adds them, and queues that run low. */
  readonly readyEndpoints: ReadyEndpoints;
  readonly logger: Logger;
}

/** Due retries, lost leases and what other processes recorded are found this late at most. */
const POLL_MS = 500;
/** Claims of one round; the heads of their messages are in memory at the same time. */
const CLAIMS_MAX = 512;
/** Endpoints of one round, and of one organization in it. More keep others waiting until all are prepared, fewer cost claims. */
const ROUND = { total: CLAIMS_MAX, perOrganization: 64 };
/** The same of endpoints that are not known to succeed. */
const PROBES_ROUND = { total: 64, perOrganization: 16 };
/** On a stop, a receiver that takes longer gets the event again after the lease. */
const STOP_GRACE_MS = 6000;

/** Secrets that sign, and the customer's own headers; null: the vault lacks one. */
const secretsOf = async (
  { secrets, system }: PostWebhooks,
  endpoint: ExistingWebhook,
): Promise<Pick<PreparedPost, 'secrets' | 'headers'> | null> => {
  const ids = [...signingSecretIds(endpoint, system.now()), ...(endpoint.headers ? [endpoint.headers.secretId] : [])];
  const found = (await Promise.all(ids.map((id) => secrets.get(id)))).filter((one) => one !== undefined);
  if (found.length < ids.length) return null;
  // Was written by the command that keeps headers.
  const headers = endpoint.headers === null ? {} : (JSON.parse(found.pop() ?? '{}') as PreparedPost['headers']);
  return { secrets: found, headers };
};

/** How long the permissions behind an endpoint are remembered. Longer leaks what a change forbids, shorter costs queries. */
const PERMISSIONS_MS = 1_000;
/** Endpoints whose permissions are remembered: about 1 MB. */
const ENDPOINTS_MAX = 10_000;

type CarriesContents = (endpoint: ExistingWebhook) => Promise<boolean>;

const createCarriesContents = (deps: PostWebhooks): CarriesContents => {
  const known = new LRUCache<string, boolean, ExistingWebhook>({
    max: ENDPOINTS_MAX,
    ttl: PERMISSIONS_MS,
    fetchMethod: (_ownedBy, _stale, { context }) => carriesContents(deps, context),
  });
  return async (endpoint) => (await known.fetch(endpoint.ownedBy, { context: endpoint })) ?? false;
};

/** Makes the body of a post. */
type BodyOf = (endpoint: ExistingWebhook, event: CustomerEvent) => Promise<PreparedPost['body']>;

const createBodyOf = (deps: PostWebhooks): BodyOf => {
  const { contents, serializeEvents } = deps;
  const carries = createCarriesContents(deps);
  const mailBody = createMailBody(deps);
  return async (endpoint, event) => {
    const hasContents = await carries(endpoint);
    if (carriesMail(event.type)) return mailBody(event, { hasContents, format: endpoint.format });
    const [body] = await serializeEvents(hasContents ? contents : null, [event], endpoint.format);
    return { content: JSON.stringify(body) };
  };
};

/** @returns null: the endpoint was disabled or deleted a moment ago, and the delivery is left to its lease. */
const prepare = async (deps: PostWebhooks, bodyOf: BodyOf, delivery: ClaimedDelivery): Promise<PreparedPost | null> => {
  const endpoint = deps.endpoints.get(delivery.webhookId);
  if (endpoint === undefined) return null;
  // Concurrent callers of both share queries.
  const [body, found] = await Promise.all([bodyOf(endpoint, delivery.event), secretsOf(deps, endpoint)]);
  const { url, format } = endpoint;
  if (found !== null) return { delivery, url, format, ...found, body };
  deps.logger.error({ webhookId: delivery.webhookId }, 'the vault has no signing secret or headers for this webhook');
  return null;
};

class Stopping extends Error {}

/** Claims for some endpoints and queues the posts. @returns endpoints that have more. */
type ClaimFor = (endpoints: readonly ReadyEndpoint[]) => Promise<readonly ReadyEndpoint[]>;

const createClaim = (deps: PostWebhooks, queues: EndpointQueues, stopping: AbortSignal): ClaimFor => {
  const { webhookDeliveries, webhookTimes, endpoints, system, logger } = deps;
  const bodyOf = createBodyOf(deps);

  /** Makes deliveries that were not tried due at once instead of after their lease. */
  const release = async (unprepared: readonly ClaimedDelivery[], err: unknown): Promise<void> => {
    const count = unprepared.length;
    if (err !== undefined) logger.warn({ count, err }, 'could not prepare webhooks: they will be claimed again');
    const ids = unprepared.map(({ id }) => id);
    await retry(system, () => webhookDeliveries.release(ids, system.now()));
  };

  /** Prepares each claim separately, so that a failure does not affect the others. */
  const queueAll = async (claimed: readonly ClaimedDelivery[]): Promise<void> => {
    const prepared = await Promise.allSettled(
      claimed.map(async (delivery) => {
        const post = await prepare(deps, bodyOf, delivery);
        if (post === null) return;
        if (stopping.aborted) throw new Stopping('the process is stopping');
        queues.add(post);
      }),
    );
    const unprepared = claimed.filter((_, index) => prepared[index]?.status === 'rejected');
    const faults = prepared.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    if (unprepared.length > 0)
      await release(
        unprepared,
        faults.find((fault) => !(fault instanceof Stopping)),
      );
  };

  return async (ready) => {
    const byOrganization = [...Map.groupBy(ready, ({ organizationId }) => organizationId).values()];
    const wanted = byOrganization.flatMap((theirs) => {
      const enabled = theirs.filter(({ webhookId }) => endpoints.get(webhookId) !== undefined);
      return queues.allot(enabled, Math.max(1, Math.floor(CLAIMS_MAX / byOrganization.length / enabled.length)));
    });
    if (wanted.length === 0) return [];
    const now = system.now();
    const leaseUntil = new Date(now.getTime() + webhookTimes.leaseMs);
    const claimed = await webhookDeliveries.claim(wanted, { now, leaseUntil });
    await queueAll(claimed);
    const counts = Object.groupBy(claimed, ({ webhookId }) => webhookId);
    return wanted.filter(({ webhookId, limit }) => counts[webhookId]?.length === limit);
  };
};

/** Wakes up when an endpoint is ready, or it is time to poll. */
const wakeUp = async (system: System, readyEndpoints: ReadyEndpoints, signal: AbortSignal): Promise<void> => {
  const woken = new AbortController();
  await Promise.race([readyEndpoints.wait(), pause(system, POLL_MS, AbortSignal.any([signal, woken.signal]))]);
  woken.abort();
};

interface PostingWebhooks {
  /** Posts to endpoints that succeed. */
  readonly posting: Work;
  /** Tries the others, in a loop of its own: the first never waits for it. */
  readonly probing: Work;
}

export const createPostWebhooks = (deps: PostWebhooks): PostingWebhooks => {
  const { system, readyEndpoints, endpoints, webhookDeliveries } = deps;
  /** Ids of endpoints whose last claim took all that it was allowed to. */
  const haveMore = new Set<string>();
  const stopping = new AbortController();
  const queues = createEndpointQueues({
    ...deps,
    onLow: (endpoint) => {
      if (haveMore.delete(endpoint.webhookId)) readyEndpoints.add([endpoint]);
    },
  });
  const claim = createClaim(deps, queues, stopping.signal);
  const toProbe = createReadyEndpoints();

  const claimFor = async (ready: readonly ReadyEndpoint[]): Promise<void> => {
    for (const { webhookId } of await claim(ready)) haveMore.add(webhookId);
  };

  const posting: Work = async (signal, working) => {
    let polledMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      if (system.monotonicMs() - polledMs >= POLL_MS) {
        readyEndpoints.add(queues.inTurn(endpoints.enabled()));
        polledMs = system.monotonicMs();
      }
      const { true: succeeding = [], false: others = [] } = Object.groupBy(
        readyEndpoints.take(ROUND),
        ({ webhookId }) => (queues.isSucceeding(webhookId) ? 'true' : 'false'),
      );
      toProbe.add(others);
      await claimFor(succeeding);
      working();
      await wakeUp(system, readyEndpoints, signal);
    }
    stopping.abort();
    const notStarted = await queues.close(STOP_GRACE_MS);
    if (notStarted.length > 0) await webhookDeliveries.release(notStarted, system.now());
  };

  const probing: Work = async (signal, working) => {
    while (!signal.aborted) {
      await claimFor(toProbe.take(PROBES_ROUND));
      working();
      await wakeUp(system, toProbe, signal);
    }
  };

  return { posting, probing };
};

/**
 * Pauses webhooks when the bounded key that answers for them ends: it is revoked, deleted or expired, its domain is deleted,
 * or it may no longer manage webhooks. Keys without bounds are left out, so that a rotation by hand loses nothing.
 */
interface PauseWebhooks {
  readonly store: EventStore;
  readonly system: System;
}

const ACTOR = 'worker:pause-webhooks';

/** Endpoints whose key may have ended with this event. */
const concerned = (event: RecordedEvent, endpoints: Endpoints): readonly ExistingWebhook[] => {
  const { organizationId } = event.metadata;
  const ownedByKeys = () => [...endpoints.of(organizationId)].filter((endpoint) => owningKeyId(endpoint) !== null);
  switch (event.type) {
    case 'KeyRevoked':
    case 'KeyExpired':
    case 'KeyDeleted':
    case 'KeyUpdated': {
      const { keyId } = event.data;
      return ownedByKeys().filter((endpoint) => owningKeyId(endpoint) === keyId);
    }
    case 'DomainDeleted':
      return ownedByKeys();
    // A request may be recorded after its key has ended.
    case 'WebhookRegistered':
    case 'WebhookUpdated':
    case 'WebhookEnabled': {
      const { webhookId } = event.data;
      return ownedByKeys().filter((endpoint) => endpoint.webhookId === webhookId);
    }
    default:
      return [];
  }
};

/** Whether a bounded key no longer has the authority that it registered webhooks with. */
const hasEnded = async ({ store, system }: PauseWebhooks, keyId: string): Promise<boolean> => {
  const { state: key } = await load(store, apiKey, apiKeyStream(keyId));
  if (key.status === 'absent') return false;
  if (!allows(key.permissions, 'manage')) return true;
  if (!isBounded(key)) return false;
  // The expiry may be on record already, by the clock of another machine.
  if (key.status !== 'active' || key.expiryNoted || isExpired(key, system.now().toISOString())) return true;
  const { state: domain } = await load(store, sendingDomain, sendingDomainStream(key.domainId));
  return domain.status === 'deleted';
};

export const createPauseWebhooks = (deps: PauseWebhooks): Reaction => {
  const pauseAll = async (keyId: string, theirs: readonly ExistingWebhook[], causeId: string): Promise<void> => {
    if (!(await hasEnded(deps, keyId))) return;
    for (const { webhookId, organizationId, environment } of theirs) {
      const origin = internalOrigin({ actor: ACTOR, organizationId, environment, causeId });
      await pauseWebhook(deps, origin, { webhookId, environment, keyId });
    }
  };

  return async (events, endpoints) => {
    for (const event of events) {
      const byKey = Map.groupBy(concerned(event, endpoints), (endpoint) => owningKeyId(endpoint) ?? '');
      for (const [keyId, theirs] of byKey) await pauseAll(keyId, theirs, event.id);
    }
  };
};
