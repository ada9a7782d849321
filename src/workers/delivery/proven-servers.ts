import { LRUCache } from 'lru-cache';
import type { System } from '../../lib/async/async.ts';

/**
 * Addresses of each destination that have recently accepted mail. Some providers also name their customers' machines under
 * their own domain, and anyone can put such a name into their MX records.
 */
export interface ProvenServers {
  note(provider: string, addresses: readonly string[], isGood: boolean): void;
  /** It has not answered well, and other addresses of the destination have, within the hour. */
  isStrangerTo(provider: string, address: string): boolean;
}

/** About 5 MB with their addresses. For an evicted destination any address is accepted. */
const OPERATORS_MAX = 5_000;
/** Addresses per destination. The largest providers use a few at a time. */
const ADDRESSES_MAX = 32;
/**
 * Twice the longest suspension. Longer trusts a provider that may be down; shorter lets one stranger count for it while
 * there is little mail.
 */
const LATELY_MS = 3_600_000;

export const createProvenServers = ({ monotonicMs }: Pick<System, 'monotonicMs'>): ProvenServers => {
  const servers = new LRUCache<string, Map<string, { ms: number }>>({ max: OPERATORS_MAX });

  const knownOf = (provider: string): Map<string, { ms: number }> => {
    const known = servers.get(provider) ?? new Map<string, { ms: number }>();
    if (known.size === 0) servers.set(provider, known);
    return known;
  };

  const prove = (provider: string, address: string): void => {
    const known = knownOf(provider);
    known.delete(address);
    known.set(address, { ms: monotonicMs() });
    for (const oldest of known.keys()) if (known.size > ADDRESSES_MAX) known.delete(oldest);
  };

  return {
    note: (provider, addresses, isGood) => {
      for (const address of addresses) {
        if (isGood) prove(provider, address);
        else servers.get(provider)?.delete(address);
      }
    },
    isStrangerTo: (provider, address) => {
      const known = servers.get(provider);
      if (known === undefined || known.has(address)) return false;
      const afterMs = monotonicMs() - LATELY_MS;
      return known.values().some(({ ms }) => ms > afterMs);
    },
  };
};
