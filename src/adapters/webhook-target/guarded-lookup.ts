import { promises as dns, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Resolver } from '../../lib/smtp/smtp.ts';

/** All addresses of a host. Throws if it has none. */
export type LookupAll = (host: string) => Promise<readonly LookupAddress[]>;

/** The name was resolved to an address that webhooks must not reach. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/** This machine's own names (`localhost`, its hosts file), if they lead back to it. */
const ownAddresses = async (host: string): Promise<readonly LookupAddress[]> => {
  const found = await dns.lookup(host, { all: true }).catch(() => []);
  return found.every(({ address }) => mayReach(address, { allowLoopback: true })) ? found : [];
};

const isOwn = (found: readonly LookupAddress[]): boolean =>
  found.length > 0 && found.every(({ address }) => !mayReach(address, { allowLoopback: false }));

/**
 * Uses the service's resolver, whose servers its operator configures, and not the thread pool: with `dns.lookup`, four
 * dead names would block hashing and signing for everyone. If the machine itself may be reached, its own names are
 * included.
 * @param resolver absent: only this machine's own names are known.
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

/** @throws {AddressRefused} if any address must not be reached. */
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
 * For the socket itself: it connects to the address that was checked, whatever DNS says later. undici requests all
 * addresses, Node requests one.
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

/**
 * Addresses that an endpoint may have. While mail is captured these include the machine itself, so that webhooks can be
 * tried.
 */
interface Reach {
  readonly allowLoopback: boolean;
}

/** Ports of the web. Others belong to services that were never meant to receive a POST from outside. */
const PORTS_ALLOWED = ['', '443', '8443'];

/**
 * Only globally routable unicast addresses. Private, link-local, translated (NAT64, 6to4, Teredo) and reserved ones are
 * excluded.
 */
const mayReach = (address: string, { allowLoopback }: Reach): boolean => {
  const range = addressRange(address);
  return range === 'unicast' || (allowLoopback && range === 'loopback');
};

/** The host of a URL if it is an IP address, without the brackets of IPv6. */
export const literalOf = ({ hostname }: URL): string | null => {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) ? bare : null;
};

const schemeProblem = ({ protocol, port }: URL, { allowLoopback }: Reach): string | null => {
  if (allowLoopback) return protocol === 'https:' || protocol === 'http:' ? null : 'must be an https or http URL';
  if (protocol !== 'https:') return 'must be an https URL at a public address';
  return PORTS_ALLOWED.includes(port) ? null : 'must use port 443 or 8443';
};

/** Error for an address that must not be reached, used here and after its name was resolved. */
export const addressProblem = ({ allowLoopback }: Reach): string =>
  `must lead to a public address, by https${allowLoopback ? '; while mail is captured, http and this machine are taken too' : ''}`;

/** The problem with a URL before anything is resolved (one phrase), or null. */
export const urlProblem = (text: string, reach: Reach): string | null => {
  const url = URL.parse(text);
  if (url === null) return 'is not a URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  const problem = schemeProblem(url, reach);
  if (problem !== null) return problem;
  const literal = literalOf(url);
  return literal === null || mayReach(literal, reach) ? null : addressProblem(reach);
};

const PUBLIC: Reach = { allowLoopback: false };

/** For untrusted hosts: resolved by the service's resolver, to public addresses only. */
export const createPublicLookup = (resolver: Pick<Resolver, 'addresses'>): LookupFunction =>
  createGuardedLookup(createLookupAll(PUBLIC, resolver), PUBLIC);

/**
 * The range assigned for global unicast (IANA, RFC 4291 §2.4). Addresses outside are not routed, or have another
 * meaning.
 */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/** Interface identifiers that contain an IPv4 address (ISATAP, RFC 5214 §6.1). */
const ISATAP = ['0:5efe', '200:5efe'];

const isIsatap = ({ parts }: ipaddr.IPv6): boolean =>
  ISATAP.includes(
    parts
      .slice(4, 6)
      .map((part) => part.toString(16))
      .join(':'),
  );

/** Range of an address that leads to an unchecked IPv4 address, or is not assigned. */
const hiddenRange = (address: ipaddr.IPv6): string | null => {
  if (isIsatap(address)) return 'isatap';
  // This includes `::127.0.0.1` (IPv4-compatible, RFC 4291 §2.5.5.1).
  return address.match(GLOBAL_UNICAST) ? null : 'reserved';
};

/**
 * Range of an IP address. Only `unicast` is globally routable. Not routable are `private`, `uniqueLocal`, `loopback`,
 * `linkLocal`, reserved ranges and all forms that contain an IPv4 address (compatible, NAT64, 6to4, Teredo, ISATAP),
 * except that a mapped address is classified as its IPv4 address. Null: not an IP address.
 */
export const addressRange = (address: string): string | null => {
  if (!ipaddr.isValid(address)) return null;
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  return range === 'unicast' && parsed instanceof ipaddr.IPv6 ? (hiddenRange(parsed) ?? range) : range;
};
