import type { UnsubscribeWays } from '../../domain/ports/contents.ts';

/** RFC 5322 §2.1.1, without the CRLF. */
const LINE_CHARACTERS_MAX = 998;
const PRINTABLE = /^[!-;=?-~]+$/;

/** RFC 6068 §2: what a URI cannot hold as it stands, in UTF-8 and percent-encoded. */
const mailtoUri = (address: string): string => {
  const at = address.lastIndexOf('@');
  return `mailto:${encodeURIComponent(address.slice(0, at))}@${address.slice(at + 1)}`;
};

/** RFC 8058 §3.1: there must be an https link for programs to post to. */
const isOneClick = ({ url = '' }: UnsubscribeWays): boolean => /^https:/i.test(url);

/**
 * `List-Unsubscribe` (RFC 2369 §3.2), a way a line, and `List-Unsubscribe-Post` (RFC 8058 §3.1), with their CRLF.
 * @throws {Error} a link or an address that no header can hold; requests with one are refused before they get here.
 */
export const listUnsubscribeHeaders = (ways: UnsubscribeWays): string => {
  const { url, mailto } = ways;
  const uris = [...(url === undefined ? [] : [url]), ...(mailto === undefined ? [] : [mailtoUri(mailto)])];
  if (uris.length === 0 || !uris.every((uri) => PRINTABLE.test(uri))) throw new Error('List-Unsubscribe is malformed');
  const lines = `List-Unsubscribe: ${uris.map((uri) => `<${uri}>`).join(',\r\n ')}\r\n`;
  if (lines.split('\r\n').some((line) => line.length > LINE_CHARACTERS_MAX)) {
    throw new Error('List-Unsubscribe is too long');
  }
  return lines + (isOneClick(ways) ? 'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n' : '');
};
