import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { createMemo } from '../../lib/async/async.ts';

/** A network: its address and its prefix length in bits. */
export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Four decimal octets. Shorter and octal forms are rejected, because other parsers read them differently. */
const IPV4 = /^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})(?:\/\d{1,2})?$/;
/** Prefix length of `::ffff:0:0/96`, which precedes the bits of the embedded IPv4 address. */
const MAPPED_BITS = 96;

/**
 * Parses an address or a network in CIDR notation; null if the text is neither. `::ffff:1.2.3.4` is read as 1.2.3.4.
 */
export const parseRange = (text: string): AddressRange | null => {
  if (!text.includes(':') && !IPV4.test(text)) return null;
  try {
    const [address, bits] = ipaddr.parseCIDR(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`);
    const mapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= MAPPED_BITS;
    return mapped ? [(address as ipaddr.IPv6).toIPv4Address(), bits - MAPPED_BITS] : [address, bits];
  } catch {
    return null;
  }
};

/** Describes the problem with an entry in a list of networks in one phrase, or returns null if it is valid. */
export const rangeProblem = (text: string): string | null => {
  const range = parseRange(text);
  if (range === null) return 'must be an address or a network in CIDR notation, such as 192.0.2.0/24';
  const [address, bits] = range;
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = kind.networkAddressFromCIDR(`${address}/${bits}`).toString();
  if (network === address.toString()) return null;
  return `must not have bits after its prefix: use ${network}/${bits} for the network, or the address without a prefix`;
};

/** Whether the address is in one of the ranges. `::ffff:1.2.3.4` is treated as 1.2.3.4. */
export const isWithin = (ranges: readonly AddressRange[], text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
};

/**
 * The client network by which failures and connections are counted: an IPv4 address, or the IPv6 /64 that one customer
 * usually has.
 */
export const clientNetworkOf = (text: string): string => {
  if (!text.includes(':') || !ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  return address.kind() === 'ipv4' ? address.toString() : (address as ipaddr.IPv6).parts.slice(0, 4).join(':');
};

interface Span {
  readonly kind: string;
  readonly first: bigint;
  readonly last: bigint;
}

const spanOf = ([address, bits]: AddressRange): Span => {
  const bytes = Buffer.from(address.toByteArray());
  const size = 1n << BigInt(bytes.length * 8 - bits);
  const first = (BigInt(`0x${bytes.toString('hex')}`) / size) * size;
  return { kind: address.kind(), first, last: first + size - 1n };
};

const spansOf = (texts: readonly string[]): readonly Span[] =>
  texts
    .map(parseRange)
    .filter((range) => range !== null)
    .map(spanOf);

/** Whether every address of the inner networks is in one of the outer ones. An empty list means every address. */
export const covers = (outer: readonly string[], inner: readonly string[]): boolean => {
  if (outer.length === 0) return true;
  if (inner.length === 0) return false;
  const given = [...spansOf(outer)].sort((left, right) => (left.first < right.first ? -1 : 1));
  return spansOf(inner).every(({ kind, first, last }) => {
    let reached = first;
    for (const span of given) {
      if (span.kind === kind && span.first <= reached && span.last >= reached) reached = span.last + 1n;
    }
    return reached > last;
  });
};

/** The kind of network that a request came from. It does not reveal the location. */
export type AddressClass = 'loopback' | 'private' | 'public';

const PRIVATE = new Set(['private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat', 'unspecified']);

const classOf = (text: string): AddressClass => {
  const range = ipaddr.isValid(text) ? ipaddr.process(text).range() : 'unicast';
  if (range === 'loopback') return range;
  return PRIVATE.has(range) ? 'private' : 'public';
};

/** Maximum number of client addresses in the cache, at about 100 bytes each. Lower: more addresses are parsed again. */
const CLASSES_MAX = 1_000;
const classes = createMemo<AddressClass>(CLASSES_MAX);

/**
 * Cached, because parsing takes 3 µs.
 * @param text a client's address from the socket or a trusted proxy; empty for a local socket.
 */
export const addressClassOf = (text: string): AddressClass =>
  text === '' ? 'loopback' : classes(text, () => classOf(text));

const NETWORK = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** Whether the value is an address, or an address with a prefix length (RFC 4632 §3.1, RFC 4291 §2.3). */
export const isNetwork = (value: string): boolean => NETWORK.safeParse(value).success;

/** Links in mail start with this URL, and must fit on one header line with the rest of the link (RFC 5322 §2.1.1). */
const CHARACTERS_MAX = 500;

/** Whether URLs of this service can be formed by appending a path. */
export const isPublicUrl = (text: string): boolean => {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  return url.href.length <= CHARACTERS_MAX && url.username + url.password + url.search + url.hash === '';
};

/** Normalizes the URL to ASCII, without a trailing slash. */
export const plainPublicUrl = (text: string): string => new URL(text).href.replace(/\/+$/, '');

/** Addresses of this machine, as used by a local browser. */
const OWN_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', '0.0.0.0', '[::]']);

/** Replaces an address of this machine with `localhost`, because passkeys need a host name (WebAuthn §5.1.3). */
export const withHostName = (address: URL): URL => {
  const url = new URL(address);
  if (OWN_HOSTS.has(url.hostname)) url.hostname = 'localhost';
  return url;
};

/** URL of a sign-in link. The token follows `#`, so that it reaches no server and no log. */
export const signInUrl = (publicUrl: string, token: string): string => {
  const url = withHostName(new URL(`${publicUrl}/dashboard/sign-in`));
  url.hash = token;
  return url.href;
};
