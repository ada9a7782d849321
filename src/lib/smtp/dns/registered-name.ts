import { getDomain } from 'tldts';

const plain = (host: string): string => host.toLowerCase().replace(/\.$/, '');

/**
 * The name that somebody registered (`google.com` for `aspmx.l.google.com`), by the public suffix list with its private part,
 * where people get names below a name of somebody else (`dyndns.org`). Without one, the host.
 * @param host A-labels.
 */
export const registeredName = (host: string): string =>
  getDomain(plain(host), { extractHostname: false, allowPrivateDomains: true }) ?? plain(host);
