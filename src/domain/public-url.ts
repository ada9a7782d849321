/** Links in mail begin with it, and stand on one line of a header with what follows (RFC 5322 §2.1.1). */
const CHARACTERS_MAX = 500;

/** Whether addresses of this service can be made by adding a path. */
export const isPublicUrl = (text: string): boolean => {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  return url.href.length <= CHARACTERS_MAX && url.username + url.password + url.search + url.hash === '';
};

/** The same in ASCII, whatever alphabet it was written in, and without a slash at its end. */
export const plainPublicUrl = (text: string): string => new URL(text).href.replace(/\/+$/, '');

/** Of this machine, for whoever sits at it. */
const OWN_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', '0.0.0.0', '[::]']);

/** An address of this machine becomes `localhost`: passkeys need the name of a host (WebAuthn §5.1.3). */
export const withHostName = (address: URL): URL => {
  const url = new URL(address);
  if (OWN_HOSTS.has(url.hostname)) url.hostname = 'localhost';
  return url;
};

/** Where a link to sign in leads. The token follows `#`, so that no server and no log sees it. */
export const signInUrl = (publicUrl: string, token: string): string => {
  const url = withHostName(new URL(`${publicUrl}/dashboard/sign-in`));
  url.hash = token;
  return url.href;
};
