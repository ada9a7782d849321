import ipaddr from 'ipaddr.js';

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
