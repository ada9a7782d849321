import { expireKey } from '../commands/api-key.ts';
import type { EventStore } from '../domain/kernel/event-store.ts';
import type { System } from '../lib/async/async.ts';
import { type Leadership, repeat, type Work } from './supervise.ts';

/** Ids of keys that expired before a time (ISO 8601) without a `KeyExpired`; longest expired first. */
export type ExpiredKeys = (query: { readonly before: string; readonly limit: number }) => Promise<readonly string[]>;

export interface ExpireKeys {
  readonly store: EventStore;
  readonly expiredKeys: ExpiredKeys;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** How late customers are notified; authentication does not wait for it. Each look at nothing costs one small query. */
const EVERY_MS = 2_000;
/** While one look does not find everything. */
const EVERY_MS_BUSY = 100;
/** Keys of one look: more delay other work of the process when thousands expire at once, fewer take longer. */
const KEYS_MAX = 100;

/** Records `KeyExpired` for keys that have expired, for the event feed and webhooks. */
export const expireKeys = ({ store, expiredKeys, leadership, system }: ExpireKeys): Work =>
  repeat(system, async () => {
    if (!leadership.isLeader()) return EVERY_MS;
    const keyIds = await expiredKeys({ before: system.now().toISOString(), limit: KEYS_MAX });
    for (const keyId of keyIds) await expireKey({ store, system }, { keyId, actor: 'worker:expire-keys' });
    return keyIds.length < KEYS_MAX ? EVERY_MS : EVERY_MS_BUSY;
  });
