import { ownDestination } from '../../../domain/destination/destination.ts';
import { mailboxProvider } from '../policy/mailbox-provider.ts';
import type { createMxAddresses } from './mx-addresses.ts';
import type { MailHost, MxRoutes } from './mx-routes.ts';

export interface MailDestinationsOptions {
  readonly routes: Pick<MxRoutes, 'routeOf'>;
  readonly addressesOf: ReturnType<typeof createMxAddresses>;
}

/** As many as an attempt looks at (`hops.ts`). */
const HOSTS_MAX = 10;

/** Of several that are equally preferred the first by name, so that it is the same each time. */
const inFixedOrder = (one: MailHost, other: MailHost): number =>
  one.preference - other.preference || (one.host < other.host ? -1 : 1);

/**
 * Which destination the mail of a domain waits for. Anybody can name somebody else's host in his MX records: a provider is
 * its destination only if a host of that provider would really be tried first, so that a name which is not there, leads
 * into a private network or cannot be looked up keeps the domain away from the provider's queue.
 */
export const createMailDestinations = ({ routes, addressesOf }: MailDestinationsOptions) => {
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

  return {
    /**
     * The mailbox provider of the first host that mail can be sent to (`google.com`); the domain by itself (`@example.com`)
     * if there is none. @param domain A-labels, lower case. Never throws for what the DNS says or fails to say.
     */
    operatorOf: async (domain: string): Promise<string> => {
      for (const host of await hostsOf(domain)) {
        if ((await reachable(host)).length > 0) return mailboxProvider(host);
      }
      return ownDestination(domain);
    },
    /** All addresses that mail for the domain can be sent to. */
    serversOf: async (domain: string): Promise<readonly string[]> =>
      (await Promise.all((await hostsOf(domain)).map(reachable))).flat(),
  };
};
