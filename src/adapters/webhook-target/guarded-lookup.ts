import { promises as dns, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Resolver } from '../../domain/ports/resolver.ts';
import { mayReach, type Reach } from './reachable.ts';

/** All addresses of a host; throws where there are none. */
export type LookupAll = (host: string) => Promise<readonly LookupAddress[]>;

/** The name was resolved, to an address that webhooks must not reach. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/** This machine's own names (`localhost`, its hosts file): what leads back to it. */
const ownAddresses = async (host: string): Promise<readonly LookupAddress[]> => {
  const found = await dns.lookup(host, { all: true }).catch(() => []);
  return found.every(({ address }) => mayReach(address, { allowLoopback: true })) ? found : [];
};

const isOwn = (found: readonly LookupAddress[]): boolean =>
  found.length > 0 && found.every(({ address }) => !mayReach(address, { allowLoopback: false }));

/**
 * By the service's resolver, whose servers its operator names, and without the thread pool: with `dns.lookup` four dead
 * names would stop hashing and signing for everybody. Where the machine itself may be reached, its own names count.
 * @param resolver absent: this machine's own names are all there are.
 */
export const createLookupAll =
  ({ allowLoopback }: Reach, resolver?: Pick<Resolver, 'addresses'>): LookupAll =>
  async (host) => {
    const own = allowLoopback ? await ownAddresses(host) : [];
    if (isOwn(own)) return own;
    const { records = [] } = (await resolver?.addresses(host)) ?? {};
    if (records.length === 0) throw new Error(`${host} does not resolve`);
    return records;
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
