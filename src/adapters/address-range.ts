import ipaddr from 'ipaddr.js';

/** All that is assigned for global unicast (IANA, RFC 4291 §2.4): what is outside is not routed, or means something else. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/** Interface identifiers that hold an IPv4 address (ISATAP, RFC 5214 §6.1). */
const ISATAP = ['0:5efe', '200:5efe'];

const isIsatap = ({ parts }: ipaddr.IPv6): boolean =>
  ISATAP.includes(
    parts
      .slice(4, 6)
      .map((part) => part.toString(16))
      .join(':'),
  );

/** A range by which an address leads to an IPv4 address that is not looked at, or to nobody. */
const hiddenRange = (address: ipaddr.IPv6): string | null => {
  if (isIsatap(address)) return 'isatap';
  // `::127.0.0.1` (IPv4-compatible, RFC 4291 §2.5.5.1) among them.
  return address.match(GLOBAL_UNICAST) ? null : 'reserved';
};

/**
 * What an IP address is for: `unicast` is globally routable; `private`, `uniqueLocal`, `loopback`, `linkLocal`, all forms
 * that hold an IPv4 address (mapped ones are taken for it; compatible, NAT64, 6to4, Teredo, ISATAP) and reserved ones are
 * not. Null: it is no IP address.
 */
export const addressRange = (address: string): string | null => {
  if (!ipaddr.isValid(address)) return null;
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  return range === 'unicast' && parsed instanceof ipaddr.IPv6 ? (hiddenRange(parsed) ?? range) : range;
};
