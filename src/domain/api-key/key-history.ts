import type { Aggregate } from '../kernel/aggregate.ts';
import type { ErrorCode } from '../kernel/errors.ts';
import type { RecordedEvent } from '../kernel/event-store.ts';
import type { ApiKeyEvent, ApiKeyRefusalEvent, SendingDomainEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/** Every secret that a key ever had, with its start, its end and the reason for the end. */

type SecretEvent = RecordedEvent<Extract<ApiKeyEvent, { readonly type: 'KeyCreated' | 'KeyRotated' }>>;

/** Events that affect a key's secrets, in log order. */
type KeyLifeEvent =
  | RecordedEvent<ApiKeyEvent>
  | RecordedEvent<Extract<SendingDomainEvent, { readonly type: 'DomainDeleted' }>>;

export const SECRET_ENDS = ['rotated', 'key_expired', 'key_revoked', 'key_deleted', 'domain_deleted'] as const;

interface SecretEnd {
  /** ISO 8601. May be in the future. */
  readonly at: string;
  readonly reason: (typeof SECRET_ENDS)[number];
}

export interface SecretLife {
  /** 1 for the key's first secret, one more with each rotation. */
  readonly number: number;
  /** The event that created it. */
  readonly created: SecretEvent;
  /** Null if nothing ends it yet. */
  readonly end: SecretEnd | null;
}

const KEY_ENDS = { KeyRevoked: 'key_revoked', KeyDeleted: 'key_deleted', DomainDeleted: 'domain_deleted' } as const;

const earlier = (left: SecretEnd | null, right: SecretEnd | null): SecretEnd | null =>
  left === null || (right !== null && right.at < left.at) ? right : left;

/** The first event that ended the key and all its secrets. */
const endOfKey = (events: readonly KeyLifeEvent[]): SecretEnd | null => {
  for (const { type, metadata } of events) {
    if (type === 'KeyRevoked' || type === 'KeyDeleted' || type === 'DomainDeleted')
      return { at: metadata.occurredAt, reason: KEY_ENDS[type] };
  }
  return null;
};

const isSecretEvent = (event: KeyLifeEvent): event is SecretEvent =>
  event.type === 'KeyCreated' || event.type === 'KeyRotated';

/**
 * The history, newest first. The last expiry that was set applies: an expired key with a later expiry works again.
 * @param expiresAt expiry of the key (ISO 8601); null: never.
 */
export const secretHistory = (events: readonly KeyLifeEvent[], expiresAt: string | null): readonly SecretLife[] => {
  const expiry: SecretEnd | null = expiresAt === null ? null : { at: expiresAt, reason: 'key_expired' };
  // The end of the current secret and of all earlier ones.
  let end = earlier(endOfKey(events), expiry);
  let grace: SecretEnd | null = null;
  const lives: SecretLife[] = [];
  const created = events.filter(isSecretEvent);
  for (const [index, event] of [...created.entries()].reverse()) {
    lives.push({ number: index + 1, created: event, end: earlier(grace, end) });
    if (event.type !== 'KeyRotated') continue;
    grace = { at: event.data.previousExpiresAt, reason: 'rotated' };
    if (event.data.revokesPrevious) end = earlier(end, { at: event.metadata.occurredAt, reason: 'rotated' });
  }
  return lives;
};

type RefusalData = Extract<ApiKeyRefusalEvent, { readonly type: 'KeyChangeRefused' }>['data'];
export type KeyChangeName = RefusalData['change'];

interface NotedRefusal extends Omit<RefusalData, 'keyId'> {
  readonly actor: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The latest refusals, oldest first. */
type KeyRefusals = readonly NotedRefusal[];

export interface NoteRefusal extends NotedRefusal {
  readonly keyId: string;
}

/** Limit per key. Higher: repeated requests fill the log. Lower: refusals that a customer asks about are missing. */
export const REFUSALS_PER_MINUTE_MAX = 20;
const MINUTE_MS = 60_000;

/** Refusals worth recording: they show an attempt on a key, not a mistake in a request. */
const NOTED_CODES: readonly ErrorCode[] = [
  'key_not_active',
  'too_many_live_secrets',
  'last_admin_key',
  'permission_missing',
  'wider_than_own_key',
];

export const isNotedRefusal = (code: ErrorCode): boolean => NOTED_CODES.includes(code);

export const keyRefusals: Aggregate<KeyRefusals, ApiKeyRefusalEvent> = {
  category: CATEGORIES.apiKeyRefusal,
  initial: [],
  evolve: (state, event, { actor, occurredAt }) => {
    switch (event.type) {
      case 'KeyChangeRefused': {
        const { keyId: _, ...refused } = event.data;
        return [...state.slice(1 - REFUSALS_PER_MINUTE_MAX), { ...refused, actor, at: occurredAt }];
      }
      default:
        return event.type satisfies never;
    }
  },
};

/**
 * Records a refused change, unless the same one was recorded within a minute or the limit for that minute is reached.
 */
export const noteRefusal = (
  state: KeyRefusals,
  { keyId, change, code, actor, at }: NoteRefusal,
): readonly ApiKeyRefusalEvent[] => {
  const minuteAgo = new Date(Date.parse(at) - MINUTE_MS).toISOString();
  const recent = state.filter((noted) => noted.at > minuteAgo);
  const isRepeated = recent.some((noted) => noted.change === change && noted.code === code && noted.actor === actor);
  if (isRepeated || recent.length >= REFUSALS_PER_MINUTE_MAX) return [];
  return [{ type: 'KeyChangeRefused', data: { keyId, change, code } }];
};
