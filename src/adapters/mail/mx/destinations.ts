import { LRUCache } from 'lru-cache';
import { ownDestination } from '../../../domain/destination/suspension.ts';
import type { System } from '../../../lib/async/async.ts';
import { registeredName } from '../../../lib/smtp/smtp.ts';
import type { createMxAddresses, MailHost, MxRoutes } from './routes.ts';

export interface MailDestinationsOptions {
  readonly routes: Pick<MxRoutes, 'routeOf'>;
  readonly addressesOf: ReturnType<typeof createMxAddresses>;
  readonly system: Pick<System, 'monotonicMs'>;
}

interface Known {
  readonly provider: Promise<string>;
  readonly untilMs: number;
}

/** Messages for a domain come in bursts, and each query costs 50 µs even if the resolver has the answer cached. */
const REMEMBERED_MS = 1_000;
/** About 1 MB. */
const REMEMBERED_BYTES_MAX = 1_000_000;
const ENTRY_BYTES = 200;

/** Hosts considered, as many as in an attempt (`delivery-targets.ts`). */
const HOSTS_MAX = 10;

/** Orders equally preferred hosts by name, so that the result is stable. */
const inFixedOrder = (one: MailHost, other: MailHost): number =>
  one.preference - other.preference || (one.host < other.host ? -1 : 1);

/**
 * Chooses the destination queue for the mail of a domain. A domain can name another provider's host in its MX records.
 * A provider is therefore its destination only if a host of that provider would actually be tried first: a host that
 * does not exist, leads into a private network or cannot be looked up keeps the domain out of the provider's queue.
 */
export const createMailDestinations = ({ routes, addressesOf, system }: MailDestinationsOptions) => {
  const known = new LRUCache<string, Known>({ maxSize: REMEMBERED_BYTES_MAX });

  const hostsOf = async (domain: string): Promise<readonly string[]> => {
    const route = await routes.routeOf(domain);
    if (route.kind === 'nowhere') return [];
    return [...route.hosts]
      .sort(inFixedOrder)
      .slice(0, HOSTS_MAX)
      .map(({ host }) => host);
  };

  const reachable = async (host: string): Promise<readonly string[]> => {
    const found = await addressesOf(host);
    return 'problem' in found ? [] : found.addresses.map(({ address }) => address);
  };

  const lookUp = async (domain: string): Promise<string> => {
    for (const host of await hostsOf(domain)) {
      if ((await reachable(host)).length > 0) return registeredName(host);
    }
    return ownDestination(domain);
  };

  return {
    /**
     * The mailbox provider of the first host that mail can be sent to (`google.com`). Without such a host, the domain
     * itself (`@example.com`). @param domain A-labels, lower case. Never throws because of missing or bad DNS answers.
     */
    providerOf: (domain: string): Promise<string> => {
      const nowMs = system.monotonicMs();
      const last = known.get(domain);
      if (last !== undefined && nowMs < last.untilMs) return last.provider;
      const provider = lookUp(domain);
      known.set(domain, { provider, untilMs: nowMs + REMEMBERED_MS }, { size: ENTRY_BYTES + domain.length });
      return provider;
    },
    /** All addresses that mail for the domain can be sent to. */
    serversOf: async (domain: string): Promise<readonly string[]> =>
      (await Promise.all((await hostsOf(domain)).map(reachable))).flat(),
  };
};
