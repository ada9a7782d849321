import { getDomain } from 'tldts';

const plain = (host: string): string => host.toLowerCase().replace(/\.$/, '');

/**
 * Who runs a mail host: what somebody registered (`google.com` of `aspmx.l.google.com`), by the public suffix list with its
 * private part, where anybody gets names below somebody else's (`dyndns.org`). The host itself where that is none.
 * @param host A-labels.
 */
export const mailboxProvider = (host: string): string =>
  getDomain(plain(host), { extractHostname: false, allowPrivateDomains: true }) ?? plain(host);
