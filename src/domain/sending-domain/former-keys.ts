import type { Aggregate } from '../aggregate.ts';
import type { SendingDomainEvent } from '../events.ts';
import type { DkimKey } from './events.ts';
import { type SendingDomain, sendingDomain } from './sending-domain.ts';

/** A key that mail is signed by no more, whose private half is still in the vault. */
export interface FormerKey {
  readonly selector: string;
  readonly secretId: string;
  /** Nobody can want to sign by it after this (ISO 8601). */
  readonly neededUntil: string;
}

/** A domain, registered or deleted, with the keys that it had. */
export interface DomainWithFormerKeys {
  readonly domain: SendingDomain;
  readonly former: readonly FormerKey[];
}

/**
 * How long a key is kept that was given up without another taking over: mail may be in the hands of a worker that has not
 * heard of it. Shorter makes such mail wait for another attempt; longer leaves a key lying about that nobody needs.
 */
const KEPT_MS = 24 * 3_600_000;

const keysOf = (domain: SendingDomain): readonly DkimKey[] => {
  if (domain.status !== 'registered') return [];
  const { active, pending } = domain.dkim;
  return [...(active?.keys ?? []), ...(pending?.keys ?? [])];
};

/** Where another pair has taken over, as long as the records of the pair before are needed. */
const neededUntil = (event: SendingDomainEvent, occurredAt: string): string => {
  const overlap = event.type === 'DkimKeysActivated' ? event.data.safeToRemoveAt : null;
  return overlap ?? new Date(Date.parse(occurredAt) + KEPT_MS).toISOString();
};

/** The stream of a domain, read for what it has given up: rotated keys, those that never signed, all when it is deleted. */
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

/** Keys that are not needed any more. @param now ISO 8601. */
export const unneededKeys = ({ former }: DomainWithFormerKeys, now: string): readonly FormerKey[] =>
  former.filter((key) => key.neededUntil <= now);
