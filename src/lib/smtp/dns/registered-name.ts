import { getDomain } from 'tldts';

const plain = (host: string): string => host.toLowerCase().replace(/\.$/, '');

/**
 * The registered name of a host (`google.com` for `aspmx.l.google.com`), by the public suffix list with its private
 * part, which covers names below a provider's name (`dyndns.org`). If there is none, the host itself.
 * @param host A-labels.
 */
export const registeredName = (host: string): string =>
  getDomain(plain(host), { extractHostname: false, allowPrivateDomains: true }) ?? plain(host);
