import { promises as dns, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { mayReach, type Reach } from './reachable.ts';

/** All addresses of a host; throws where there are none. */
export type LookupAll = (host: string) => Promise<readonly LookupAddress[]>;

/** A name server that is slower than this is as good as gone; the whole post has 15 s. */
const DNS_TIMEOUT_MS = 3000;
const DNS_TRIES = 2;

/** The name was resolved, to an address that webhooks must not reach. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

const addresses = (answer: PromiseSettledResult<readonly string[]>, family: 4 | 6): readonly LookupAddress[] =>
  answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];

/**
 * DNS without the thread pool: with `dns.lookup` four dead names would stop hashing and signing for everybody. Where the
 * machine itself may be reached, its hosts file counts (`localhost`).
 */
export const createLookupAll = ({ allowLoopback }: Reach): LookupAll => {
  if (allowLoopback) return (host) => dns.lookup(host, { all: true });
  const resolver = new dns.Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  return async (host) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = [...addresses(four, 4), ...addresses(six, 6)];
    if (found.length === 0) throw new Error(`${host} does not resolve`);
    return found;
  };
};

/** @throws {AddressRefused} when any address is one that must not be reached. */
export const resolveGuarded = async (
  lookupAll: LookupAll,
  host: string,
  reach: Reach,
): Promise<readonly LookupAddress[]> => {
  const found = await lookupAll(host);
  if (!found.every(({ address }) => mayReach(address, reach))) {
    throw new AddressRefused(`${host} resolves to an address that is not public`);
  }
  return found;
};

/**
 * For the socket itself: the address that was checked is the one connected to, whatever DNS says later. undici asks for
 * all addresses, Node for one.
 */
export const createGuardedLookup =
  (lookupAll: LookupAll, reach: Reach): LookupFunction =>
  (host, { all }, callback) => {
    resolveGuarded(lookupAll, host, reach).then(
      (found) => {
        const [first] = found;
        if (all === true || first === undefined) callback(null, [...found]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
