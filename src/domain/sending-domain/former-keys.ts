import type { Aggregate } from '../kernel/aggregate.ts';
import type { SendingDomainEvent } from '../kernel/events.ts';
import type { DkimKey } from './events.ts';
import { type SendingDomain, sendingDomain } from './sending-domain.ts';

/** A key that no longer signs mail, whose private half is still in the vault. */
export interface FormerKey {
  readonly selector: string;
  readonly secretId: string;
  /** Time after which no mail can need it (ISO 8601). */
  readonly neededUntil: string;
}

/** A domain, registered or deleted, with its former keys. */
export interface DomainWithFormerKeys {
  readonly domain: SendingDomain;
  readonly former: readonly FormerKey[];
}

/**
 * Retention of a key that was given up without a successor, because a worker that does not know yet may be sending
 * mail. Higher: keeps an unneeded key. Lower: such mail has to wait for another attempt.
 */
const KEPT_MS = 24 * 3_600_000;

const keysOf = (domain: SendingDomain): readonly DkimKey[] => {
  if (domain.status !== 'registered') return [];
  const { active, pending } = domain.dkim;
  return [...(active?.keys ?? []), ...(pending?.keys ?? [])];
};

/** If another pair has taken over, the time until which the records of the previous pair are needed. */
const neededUntil = (event: SendingDomainEvent, occurredAt: string): string => {
  const overlap = event.type === 'DkimKeysActivated' ? event.data.safeToRemoveAt : null;
  return overlap ?? new Date(Date.parse(occurredAt) + KEPT_MS).toISOString();
};

/**
 * Folds a domain's stream into the keys that it gave up: rotated keys, keys that never signed, and all keys on
 * deletion.
 */
export const formerKeys: Aggregate<DomainWithFormerKeys, SendingDomainEvent> = {
  category: sendingDomain.category,
  initial: { domain: sendingDomain.initial, former: [] },
  evolve: ({ domain: before, former }, event, context) => {
    const domain = sendingDomain.evolve(before, event, context);
    if (event.type === 'DkimKeysDestroyed') {
      const gone = new Set(event.data.keys.map(({ secretId }) => secretId));
      return { domain, former: former.filter(({ secretId }) => !gone.has(secretId)) };
    }
    const kept = new Set(keysOf(domain).map(({ secretId }) => secretId));
    const until = neededUntil(event, context.occurredAt);
    const lost = keysOf(before)
      .filter(({ secretId }) => !kept.has(secretId))
      .map(({ selector, secretId }) => ({ selector, secretId, neededUntil: until }));
    return { domain, former: lost.length === 0 ? former : [...former, ...lost] };
  },
};

/** Keys that are no longer needed. @param now ISO 8601. */
export const unneededKeys = ({ former }: DomainWithFormerKeys, now: string): readonly FormerKey[] =>
  former.filter((key) => key.neededUntil <= now);
