import { expireKey } from '../../commands/api-key/end-key.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { System } from '../../domain/ports/system.ts';
import type { Duty } from '../duty.ts';
import { repeat, type Work } from '../supervise.ts';

/** Ids of keys whose time was over at a time (ISO 8601), which nobody has noted; longest over first. */
export type ExpiredKeys = (query: { readonly before: string; readonly limit: number }) => Promise<readonly string[]>;

export interface ExpireKeys {
  readonly store: EventStore;
  readonly expiredKeys: ExpiredKeys;
  readonly duty: Pick<Duty, 'isOn'>;
  readonly system: System;
}

/** How late customers are told; the door does not wait for it. Each look at nothing costs one small query. */
const EVERY_MS = 2_000;
/** While there is more than one look finds. */
const EVERY_MS_BUSY = 100;
/** Noted in one look: more delay the process's other work when thousands end at once, fewer take longer over them. */
const KEYS_MAX = 100;

/** Notes keys whose time is over, so that the feed and webhooks tell it. */
export const expireKeys = ({ store, expiredKeys, duty, system }: ExpireKeys): Work =>
  repeat(system, async () => {
    if (!duty.isOn()) return EVERY_MS;
    const keyIds = await expiredKeys({ before: system.now().toISOString(), limit: KEYS_MAX });
    for (const keyId of keyIds) await expireKey({ store, system }, { keyId, actor: 'worker:expire-keys' });
    return keyIds.length < KEYS_MAX ? EVERY_MS : EVERY_MS_BUSY;
  });
