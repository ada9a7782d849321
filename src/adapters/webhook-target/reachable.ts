import ipaddr from 'ipaddr.js';
import { addressRange } from '../address-range.ts';

/** What an endpoint may be; capturing, the machine itself is one too, so that webhooks can be tried. */
export interface Reach {
  readonly allowLoopback: boolean;
}

/** Ports of the web; others belong to services that were never meant to get a POST from outside. */
const PORTS_ALLOWED = ['', '443', '8443'];

/** Globally routable unicast only: private, link-local, translated (NAT64, 6to4, Teredo) and reserved ones are not. */
export const mayReach = (address: string, { allowLoopback }: Reach): boolean => {
  const range = addressRange(address);
  return range === 'unicast' || (allowLoopback && range === 'loopback');
};

/** The host of a URL when it is an IP address, without the brackets of IPv6. */
export const literalOf = ({ hostname }: URL): string | null => {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) ? bare : null;
};

const schemeProblem = ({ protocol, port }: URL, { allowLoopback }: Reach): string | null => {
  if (allowLoopback) return protocol === 'https:' || protocol === 'http:' ? null : 'must be an https or http URL';
  if (protocol !== 'https:') return 'must be an https URL at a public address';
  return PORTS_ALLOWED.includes(port) ? null : 'must use port 443 or 8443';
};

/** What an address that may not be reached is told, here and after its name was resolved. */
export const addressProblem = ({ allowLoopback }: Reach): string =>
  `must lead to a public address, by https${allowLoopback ? '; while mail is captured, http and this machine are taken too' : ''}`;

/** What is wrong with a URL before anything is resolved (one phrase), or null. */
export const urlProblem = (text: string, reach: Reach): string | null => {
  const url = URL.parse(text);
  if (url === null) return 'is not a URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  const problem = schemeProblem(url, reach);
  if (problem !== null) return problem;
  const literal = literalOf(url);
  return literal === null || mayReach(literal, reach) ? null : addressProblem(reach);
};
