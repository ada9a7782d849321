import type { Aggregate } from '../kernel/aggregate.ts';
import type { ErrorCode } from '../kernel/errors.ts';
import type { ApiKeyRefusalEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';

type Refused = Extract<ApiKeyRefusalEvent, { readonly type: 'KeyChangeRefused' }>['data'];
export type KeyChangeName = Refused['change'];

interface NotedRefusal extends Omit<Refused, 'keyId'> {
  readonly actor: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The latest refusals, oldest first. */
export type KeyRefusals = readonly NotedRefusal[];

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
