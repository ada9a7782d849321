import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { createMemo } from './memo.ts';

/** A network: its address and how many bits of it count. */
export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Four decimal numbers; shorter and octal forms mean something else to everybody. */
const IPV4 = /^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})(?:\/\d{1,2})?$/;
/** Bits of `::ffff:0:0/96`, before those of the IPv4 address within. */
const MAPPED_BITS = 96;

/** One address or a network in CIDR notation; null where it is neither. `::ffff:1.2.3.4` counts as 1.2.3.4. */
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

/** What is wrong with a text in a list of networks (one phrase), or null. */
export const rangeProblem = (text: string): string | null => {
  const range = parseRange(text);
  if (range === null) return 'must be an address or a network in CIDR notation, such as 192.0.2.0/24';
  const [address, bits] = range;
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = kind.networkAddressFromCIDR(`${address}/${bits}`).toString();
  if (network === address.toString()) return null;
  return `must not have bits beyond its prefix: write ${network}/${bits} for the network, or the address alone`;
};

/** Whether the address lies in one of the ranges; `::ffff:1.2.3.4` counts as 1.2.3.4. */
export const isWithin = (ranges: readonly AddressRange[], text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
};

/** The client network that failures and connections are counted by: an IPv4 address, or an IPv6 /64, as a customer mostly has. */
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

/** Whether every address of the inner networks lies in one of the outer ones. No networks at all means every address. */
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

/** What is told of where a request came from without naming the place. */
export type AddressClass = 'loopback' | 'private' | 'public';

const PRIVATE = new Set(['private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat', 'unspecified']);

const classOf = (text: string): AddressClass => {
  const range = ipaddr.isValid(text) ? ipaddr.process(text).range() : 'unicast';
  if (range === 'loopback') return range;
  return PRIVATE.has(range) ? 'private' : 'public';
};

/** Clients whose requests come one after another; some 100 bytes each. */
const CLASSES_MAX = 1_000;
const classes = createMemo<AddressClass>(CLASSES_MAX);

/** Cached: parsing takes 3 µs. @param text a client's address as the socket or a trusted proxy names it; empty for a local socket. */
export const addressClassOf = (text: string): AddressClass =>
  text === '' ? 'loopback' : classes(text, () => classOf(text));

const NETWORK = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** An address, or one with the length of a prefix (RFC 4632 §3.1, RFC 4291 §2.3). */
export const isNetwork = (value: string): boolean => NETWORK.safeParse(value).success;
