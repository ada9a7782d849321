import ipaddr from 'ipaddr.js';

/** A network: its address and how many bits of it count. */
export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** One address or a network in CIDR notation; null where it is neither. */
export const parseRange = (text: string): AddressRange | null => {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    return null;
  }
};

/** Whether the address lies in one of the ranges; `::ffff:1.2.3.4` counts as 1.2.3.4. */
export const isWithin = (ranges: readonly AddressRange[], text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
};

/** What failures are counted by: one IPv4 address, or the 64 bits that one IPv6 customer is usually given. */
export const neighbourhoodOf = (text: string): string => {
  if (!text.includes(':') || !ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text);
  return address.kind() === 'ipv4' ? address.toString() : (address as ipaddr.IPv6).parts.slice(0, 4).join(':');
};
