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
