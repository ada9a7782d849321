import { createHmac } from 'node:crypto';
import { jitter } from '../../lib/async/async.ts';
import { canonicalJson } from '../../lib/transparency/transparency.ts';
import { GRACE_PERIOD_MINUTES_MAX } from '../api-key/api-key.ts';
import { isBounded, type KeyBounds } from '../api-key/caller.ts';
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import type { Environment } from '../kernel/environment.ts';
import { DomainError } from '../kernel/errors.ts';
import type { WebhookEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import type { DisabledReason, WebhookFilters, WebhookFormat, WebhookHeaders } from './events.ts';
import { RESEND_EVENTS } from './resend.ts';
import { SENDGRID_EVENTS } from './sendgrid.ts';

/** A replaced signing secret that also signs until it expires. */
interface EarlierSecret {
  readonly secretId: string;
  readonly expiresAt: string;
}

export interface ExistingWebhook {
  /** `paused`: the key that is responsible for it has ended, and its events wait. */
  readonly status: 'enabled' | 'disabled' | 'paused' | 'deleted';
  readonly webhookId: string;
  readonly organizationId: string;
  readonly environment: Environment;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
  readonly filters: WebhookFilters;
  readonly headers: WebhookHeaders | null;
  /** Absent: events as the feed has them. */
  readonly format?: WebhookFormat | undefined;
  readonly secretId: string;
  readonly earlierSecrets: readonly EarlierSecret[];
  readonly createdAt: string;
  /** Time of registration or of the last enabling. Earlier failures do not count. */
  readonly enabledAt: string;
  /**
   * Actor that is responsible for it: the last one that registered, enabled or adopted it, or changed more than its
   * description.
   */
  readonly ownedBy: string;
  /** Null if it is not disabled. */
  readonly disabledReason: DisabledReason | null;
}

export type Webhook = { readonly status: 'absent' } | ExistingWebhook;

/**
 * Maximum webhooks of an organization in both environments, unless the operator configures another. Each adds a post
 * for every event. Higher: a small tenant's mail becomes expensive for everyone. Lower: customers multiply events
 * themselves.
 */
export const WEBHOOKS_MAX_DEFAULT = 50;

const NO_FILTERS: WebhookFilters = { domains: [], tags: [] };
/** Posted only to the endpoint that it tests, whatever its subscriptions. */
export const PING = 'webhook.ping';

/** Whether an endpoint subscribed to these types or families gets an event of this type. */
export const subscribesTo = (events: readonly string[], type: string): boolean =>
  type !== PING &&
  events.some((wanted) => wanted === type || (wanted.endsWith('.*') && type.startsWith(wanted.slice(0, -1))));

/** Vault ids of the secrets that sign a post, the current one first. */
export const signingSecretIds = (
  { secretId, earlierSecrets }: Pick<ExistingWebhook, 'secretId' | 'earlierSecrets'>,
  now: Date,
): readonly string[] => [
  secretId,
  ...earlierSecrets.filter(({ expiresAt }) => Date.parse(expiresAt) > now.getTime()).map((earlier) => earlier.secretId),
];

const liveAt = (secrets: readonly EarlierSecret[], now: string): readonly EarlierSecret[] =>
  secrets.filter(({ expiresAt }) => expiresAt > now);

type WebhookUpdate = Extract<WebhookEvent, { type: 'WebhookUpdated' }>['data'];

const applyUpdate = (
  state: ExistingWebhook,
  { webhookId: _, description, headers, ...changes }: WebhookUpdate,
  actor: string,
): ExistingWebhook => ({
  ...state,
  ownedBy: headers === undefined && Object.keys(changes).length === 0 ? state.ownedBy : actor,
  url: changes.url ?? state.url,
  events: changes.events ?? state.events,
  filters: changes.filters ?? state.filters,
  description: description === undefined ? state.description : description,
  headers: headers === undefined ? state.headers : headers,
});

export const webhook: Aggregate<Webhook, WebhookEvent> = {
  category: CATEGORIES.webhook,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt, actor }) => {
    if (event.type === 'WebhookRegistered') {
      return {
        status: 'enabled',
        ...event.data,
        filters: event.data.filters ?? NO_FILTERS,
        headers: event.data.headers ?? null,
        earlierSecrets: [],
        organizationId,
        createdAt: occurredAt,
        enabledAt: occurredAt,
        ownedBy: actor,
        disabledReason: null,
      };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'WebhookUpdated':
        return applyUpdate(state, event.data, actor);
      case 'WebhookSecretRotated': {
        const previous = { secretId: state.secretId, expiresAt: event.data.previousExpiresAt };
        const earlierSecrets = liveAt([...state.earlierSecrets, previous], occurredAt);
        return { ...state, secretId: event.data.secretId, earlierSecrets };
      }
      case 'WebhookEnabled':
        return { ...state, status: 'enabled', enabledAt: occurredAt, disabledReason: null, ownedBy: actor };
      case 'WebhookDisabled':
        return { ...state, status: 'disabled', disabledReason: event.data.reason };
      case 'WebhookPaused':
        return { ...state, status: 'paused' };
      case 'WebhookAdopted':
        if (state.status !== 'paused') return { ...state, ownedBy: actor };
        return { ...state, status: 'enabled', enabledAt: occurredAt, ownedBy: actor };
      case 'WebhookPinged':
      case 'WebhookDeliveryResent':
        return state;
      case 'WebhookDeleted':
        return { ...state, status: 'deleted' };
      default:
        return event satisfies never;
    }
  },
};

type WebhookRegistration = Extract<WebhookEvent, { type: 'WebhookRegistered' }>['data'];

const RECEIVED_MAIL = 'inbound.received';
const POSTMARK = 'postmark_inbound';
const SENDGRID = 'sendgrid_inbound';

/** Events that a format has. */
const FORMAT_EVENTS: Readonly<Record<WebhookFormat, readonly string[]>> = {
  sendgrid: SENDGRID_EVENTS,
  resend: RESEND_EVENTS,
  [POSTMARK]: [RECEIVED_MAIL],
  [SENDGRID]: [RECEIVED_MAIL],
};

/** Whether a webhook can be sent received mail. @param format undefined: our own. */
export const hasReceivedMail = (format: WebhookFormat | undefined): boolean =>
  format === undefined || FORMAT_EVENTS[format].includes(RECEIVED_MAIL);

/** Whether the post of an event has the whole mail, which can be large. */
export const carriesMail = (type: string): boolean => type === RECEIVED_MAIL;

/** Whether posts have the headers of SendGrid's signature too. */
export const isSignedForSendgrid = (format: WebhookFormat | undefined): boolean =>
  format === 'sendgrid' || format === SENDGRID;

/** @throws {DomainError} `invalid_request`: the format has no such event. */
const requireEvents = (format: WebhookFormat | undefined, events: readonly string[]): void => {
  if (format === undefined) return;
  const known = FORMAT_EVENTS[format];
  if (events.every((type) => known.includes(type))) return;
  const problem = `events must be among ${known.join(', ')}, because format is ${format}`;
  throw new DomainError('invalid_request', problem, { details: { events: [problem] } });
};

/** @throws {DomainError} `resource_conflict`, `invalid_request`. */
export const registerWebhook = (state: Webhook, command: WebhookRegistration): readonly WebhookEvent[] => {
  if (state.status !== 'absent') throw new DomainError('resource_conflict', 'the webhook already exists');
  requireEvents(command.format, command.events);
  return [{ type: 'WebhookRegistered', data: command }];
};

/** The required owner of an endpoint. */
export interface WebhookOwner {
  readonly organizationId: string;
  readonly environment: Environment;
}

/**
 * Returns the endpoint if it belongs to the caller's organization and environment and was not deleted.
 * @throws {DomainError}
 */
export const requireWebhook = (state: Webhook, by: WebhookOwner): ExistingWebhook => {
  const existing = requireOwn(state, by.organizationId, 'webhook');
  if (existing.status === 'deleted' || existing.environment !== by.environment) {
    throw new DomainError('not_found', 'webhook not found');
  }
  return existing;
};

/**
 * Like `requireWebhook`, and also requires that the webhook is enabled.
 * @throws {DomainError} also `webhook_disabled`.
 */
export const requireEnabled = (state: Webhook, by: WebhookOwner): ExistingWebhook => {
  const existing = requireWebhook(state, by);
  requireNotPaused(existing);
  if (existing.status === 'enabled') return existing;
  throw new DomainError('webhook_disabled', 'the webhook is disabled: enable it first');
};

/** @throws {DomainError} `webhook_disabled`. */
const requireNotPaused = ({ status }: ExistingWebhook): void => {
  if (status !== 'paused') return;
  const problem = 'the webhook is paused because its API key has ended: adopt the webhook first';
  throw new DomainError('webhook_disabled', problem);
};

/** Disables an enabled endpoint, because its receiver replied 410 or has failed for too long. */
export const disableWebhook = (state: Webhook, reason: DisabledReason): readonly WebhookEvent[] =>
  state.status === 'enabled' ? [{ type: 'WebhookDisabled', data: { webhookId: state.webhookId, reason } }] : [];

/** Requested changes. Undefined fields are unchanged. */
interface WebhookChanges {
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  readonly description?: string | null | undefined;
  readonly filters?: WebhookFilters | undefined;
  /** Always a change if provided, because the values cannot be compared. */
  readonly headers?: WebhookHeaders | null | undefined;
  readonly enabled?: boolean | undefined;
}

const COMPARED = ['url', 'events', 'description', 'filters'] as const;

const fieldChanges = (existing: ExistingWebhook, changes: WebhookChanges): readonly WebhookEvent[] => {
  const changed = COMPARED.filter(
    (name) => changes[name] !== undefined && canonicalJson(changes[name]) !== canonicalJson(existing[name]),
  ).map((name) => [name, changes[name]]);
  const hasHeaders = changes.headers !== undefined && !(changes.headers === null && existing.headers === null);
  if (changed.length === 0 && !hasHeaders) return [];
  const headers = hasHeaders ? { headers: changes.headers } : {};
  const data = { webhookId: existing.webhookId, ...Object.fromEntries(changed), ...headers };
  return [{ type: 'WebhookUpdated', data }];
};

const toEnabled = (existing: ExistingWebhook, enabled: boolean): readonly WebhookEvent[] => {
  requireNotPaused(existing);
  if (!enabled) return disableWebhook(existing, 'requested');
  return existing.status === 'enabled' ? [] : [{ type: 'WebhookEnabled', data: { webhookId: existing.webhookId } }];
};

/**
 * Changes a webhook. Equal values are no change.
 * @throws {DomainError} `not_found`, `other_organization`, `webhook_disabled`, `invalid_request`.
 */
export const updateWebhook = (state: Webhook, by: WebhookOwner, changes: WebhookChanges): readonly WebhookEvent[] => {
  const existing = requireWebhook(state, by);
  const { enabled, events = [] } = changes;
  requireEvents(existing.format, events);
  return [...fieldChanges(existing, changes), ...(enabled === undefined ? [] : toEnabled(existing, enabled))];
};

const KEY_ACTOR = 'key:';

/** Id of the key that is responsible for a webhook; otherwise null. */
export const owningKeyId = ({ ownedBy }: Pick<ExistingWebhook, 'ownedBy'>): string | null =>
  ownedBy.startsWith(KEY_ACTOR) ? ownedBy.slice(KEY_ACTOR.length) : null;

/** Pauses an enabled webhook whose responsible key has ended. Other webhooks are unchanged. */
export const pauseWebhook = (state: Webhook, keyId: string): readonly WebhookEvent[] =>
  state.status === 'enabled' && owningKeyId(state) === keyId
    ? [{ type: 'WebhookPaused', data: { webhookId: state.webhookId, keyId } }]
    : [];

/**
 * Makes another actor responsible. A paused webhook then gets the events that waited.
 * @param adopter the actor, and the bounds of its key; null for a member, who has none.
 * @throws {DomainError} `wider_than_own_key`, `not_found`, `other_organization`.
 */
export const adoptWebhook = (
  state: Webhook,
  by: WebhookOwner,
  adopter: { readonly actor: string; readonly bounds: Pick<KeyBounds, 'allowedCidrs' | 'expiresAt'> | null },
): readonly WebhookEvent[] => {
  const { webhookId, status, ownedBy } = requireWebhook(state, by);
  if (adopter.bounds !== null && isBounded(adopter.bounds)) {
    const problem =
      'an API key with an expiry or allowed networks cannot adopt a webhook: use a key without these limits';
    throw new DomainError('wider_than_own_key', problem);
  }
  return status !== 'paused' && ownedBy === adopter.actor ? [] : [{ type: 'WebhookAdopted', data: { webhookId } }];
};

/** Maximum earlier secrets that still sign. Each signs every post, so more would only make the header longer. */
const EARLIER_SECRETS_MAX = 2;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

interface RotateWebhookSecret {
  readonly secretId: string;
  /** 0 to `GRACE_PERIOD_MINUTES_MAX`: time for which the previous secret also signs. */
  readonly gracePeriodMinutes: number;
  /** ISO 8601. */
  readonly now: string;
}

/** @throws {DomainError} `not_found`, `other_organization`, `too_many_live_secrets`. */
export const rotateWebhookSecret = (
  state: Webhook,
  by: WebhookOwner,
  { secretId, gracePeriodMinutes, now }: RotateWebhookSecret,
): readonly WebhookEvent[] => {
  const { webhookId, earlierSecrets } = requireWebhook(state, by);
  if (gracePeriodMinutes > 0 && liveAt(earlierSecrets, now).length >= EARLIER_SECRETS_MAX) {
    const problem = `the webhook already has ${EARLIER_SECRETS_MAX} earlier secrets that still sign: wait until one ends, or rotate with grace_period_minutes 0`;
    throw new DomainError('too_many_live_secrets', problem);
  }
  const graceMs = Math.min(gracePeriodMinutes, GRACE_PERIOD_MINUTES_MAX) * MINUTE_MS;
  const previousExpiresAt = new Date(Date.parse(now) + graceMs).toISOString();
  return [{ type: 'WebhookSecretRotated', data: { webhookId, secretId, previousExpiresAt } }];
};

/** @throws {DomainError} `not_found`, `other_organization`, `webhook_disabled`. */
export const pingWebhook = (state: Webhook, by: WebhookOwner): readonly WebhookEvent[] => [
  { type: 'WebhookPinged', data: { webhookId: requireEnabled(state, by).webhookId } },
];

/** @throws {DomainError} `not_found`, `other_organization`, `webhook_disabled`. */
export const resendDelivery =
  (deliveryId: string) =>
  (state: Webhook, by: WebhookOwner): readonly WebhookEvent[] => [
    { type: 'WebhookDeliveryResent', data: { webhookId: requireEnabled(state, by).webhookId, deliveryId } },
  ];

/** @throws {DomainError} `not_found`, `other_organization`. */
export const deleteWebhook = (state: Webhook, by: WebhookOwner): readonly WebhookEvent[] => [
  { type: 'WebhookDeleted', data: { webhookId: requireWebhook(state, by).webhookId } },
];

/** Posting an event to an endpoint: headers, signatures, and the waits between tries. */

const PREFIX = /^whsec_/;

/** Headers of every post, in addition to the signed ones. */
export const POST_HEADERS = { 'content-type': 'application/json', 'user-agent': 'Outbox-Webhooks/1.0' } as const;

/** Contains the replay to which a post belongs. */
export const REPLAY_HEADER = 'webhook-replay';

export const webhookTimestamp = (at: Date): string => String(Math.floor(at.getTime() / SECOND_MS));

interface SignedWebhook {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Signs a webhook post with the headers of Standard Webhooks 1.0.0: HMAC-SHA256 over `id.timestamp.body`, keyed with
 * the decoded bytes of the secret's Base64, not with its text.
 * @param secrets `whsec_<base64>`, with one signature for each, so that a receiver may know the old or the new one.
 */
export const signWebhook = (
  secrets: readonly string[],
  { id, at, body }: { readonly id: string; readonly at: Date; readonly body: string | Uint8Array },
): SignedWebhook => {
  const timestamp = webhookTimestamp(at);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(PREFIX, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
};

/** Waits after the first, second, … try. After the last try, the delivery has failed. */
const WAITS_MS = [
  5 * SECOND_MS,
  ...[1, 5, 30].map((minutes) => minutes * MINUTE_MS),
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
/** A receiver may ask for a longer wait, but not for one so long that its events are forgotten. */
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;

/**
 * Milliseconds to wait after this try of a webhook; null if there is no further try.
 * @param attempt 1 for the first.
 * @param random in [0, 1): spreads the wait by ±10 %.
 * @param retryAfterSeconds wait requested by the receiver, used if it is longer.
 */
export const webhookRetryWaitMs = (
  attempt: number,
  random: number,
  retryAfterSeconds: number | null,
): number | null => {
  const wait = WAITS_MS[attempt - 1];
  if (wait === undefined) return null;
  const asked = Math.min((retryAfterSeconds ?? 0) * SECOND_MS, RETRY_AFTER_MS_MAX);
  return Math.max(jitter(wait, random), asked);
};
