/** Links in mail start with this URL, and must fit on one header line with the rest of the link (RFC 5322 §2.1.1). */
const CHARACTERS_MAX = 500;

/** Whether URLs of this service can be formed by appending a path. */
export const isPublicUrl = (text: string): boolean => {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  return url.href.length <= CHARACTERS_MAX && url.username + url.password + url.search + url.hash === '';
};

/** Normalizes the URL to ASCII, without a trailing slash. */
export const plainPublicUrl = (text: string): string => new URL(text).href.replace(/\/+$/, '');

/** Addresses of this machine, as used by a local browser. */
const OWN_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', '0.0.0.0', '[::]']);

/** Replaces an address of this machine with `localhost`, because passkeys need a host name (WebAuthn §5.1.3). */
export const withHostName = (address: URL): URL => {
  const url = new URL(address);
  if (OWN_HOSTS.has(url.hostname)) url.hostname = 'localhost';
  return url;
};

/** URL of a sign-in link. The token follows `#`, so that it reaches no server and no log. */
export const signInUrl = (publicUrl: string, token: string): string => {
  const url = withHostName(new URL(`${publicUrl}/dashboard/sign-in`));
  url.hash = token;
  return url.href;
};
