import { getDomain } from 'tldts';
import type { MxRecord } from '../../../domain/resolver.ts';

const plain = (host: string): string => host.toLowerCase().replace(/\.$/, '');

/** What somebody registered (public suffix list): `google.com` of `aspmx.l.google.com`; the host itself where that is none. */
const registrable = (host: string): string => getDomain(plain(host), { extractHostname: false }) ?? plain(host);

const isBefore = (one: MxRecord, other: MxRecord): boolean =>
  one.preference === other.preference ? one.exchange < other.exchange : one.preference < other.preference;

/**
 * Who runs the mail of a domain: whom its most preferred host belongs to (of several the first by name, so that it is the
 * same each time); the domain's own registrable domain where it has no hosts.
 * @param domain A-labels.
 */
export const mxOperator = (domain: string, hosts: readonly MxRecord[]): string => {
  const [first, ...others] = hosts.filter(({ exchange }) => exchange !== '');
  if (first === undefined) return registrable(domain);
  return registrable(others.reduce((best, each) => (isBefore(each, best) ? each : best), first).exchange);
};
