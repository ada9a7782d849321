import ipaddr from 'ipaddr.js';

/**
 * What an IP address is for: `unicast` is globally routable; `private`, `uniqueLocal`, `loopback`, `linkLocal`, translated
 * (NAT64, 6to4, Teredo) and reserved ones are not. Null: it is no IP address.
 */
export const addressRange = (address: string): string | null =>
  ipaddr.isValid(address) ? ipaddr.process(address).range() : null;
