/** `List-Unsubscribe: <…>,` stands on one line of 998 characters (RFC 5322 §2.1.1); no link that is in use comes near. */
const CHARACTERS_MAX = 900;
/** RFC 3986 §2 in characters, and an authority after the scheme: browsers forgive much that other programs do not. */
const URL_TEXT = /^https:\/\/(?=[^/?#])(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/i;
/** Lenient readers decode it, wherever it stands (RFC 2047). */
const LIKE_ENCODED_WORD = /=\?[^?]*\?/;

/**
 * What keeps a text from being the link of a `List-Unsubscribe` (RFC 2369 §3.2, RFC 8058 §3.1), which programs follow;
 * to follow upon the field's name. null: nothing does.
 */
export const unsubscribeUrlProblem = (text: string): string | null => {
  if (text.length > CHARACTERS_MAX) return `must have at most ${CHARACTERS_MAX} characters`;
  if (!URL_TEXT.test(text)) return 'must be an absolute https URL in ASCII, percent-encoded where needed';
  const parsed = URL.parse(text);
  if (parsed === null || parsed.hostname === '') return 'must be an absolute https URL with a host';
  if (text.split(/[/?#]/)[2]?.includes('@') === true) return 'must not contain a user name or password';
  return LIKE_ENCODED_WORD.test(text) ? 'must not contain =?…?, which reads as an encoded word' : null;
};
