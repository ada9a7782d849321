/** Sentences and names of a refused request without what may be a person's or a secret. */

const MASK = '***';

/** The at sign of an address: typed, in full width, and as encoded in URLs and HTML. */
const AT_SIGN = /@|\uff20|\ufe6b|%(?:25)*40|&#64;|&#x40;|&commat;/i;
/** Quoted contents in sentences. */
const QUOTED = /"[^"]*"?/g;
/** URLs after the host, where a secret may be. */
const URL_PATHS = /(https?:\/\/[^\s/?#]+)[/?#]\S*/gi;
/** API keys, tokens and secrets of webhooks. */
const SECRETS = /(?:ob_[a-z]+|whsec)_\S+/g;
/** Control characters, and those that turn the text around them (UAX #9 §2). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const cut = (text: string, maximum: number): string =>
  text.length > maximum ? `${text.slice(0, maximum - 1).toWellFormed()}…` : text;

/** A sentence without addresses, quotations and paths of URLs, on one line. @param maximum in characters. */
export const redactSentence = (text: string, maximum: number): string =>
  cut(text, 4 * maximum) // what is cut away is not worked on
    .toWellFormed()
    .replace(CONTROL, ' ')
    .replace(QUOTED, `"${MASK}"`)
    .replace(URL_PATHS, `$1/${MASK}`)
    .replace(SECRETS, MASK)
    .split(' ')
    .map((word) => (AT_SIGN.test(word) ? MASK : word))
    .join(' ')
    .slice(0, maximum);

/** A name of a field as programs give them. */
const NAME = /^[A-Za-z_$][\w.$-]{0,63}$/;
/** The name of a member, unless it may be more than a name. */
export const redactName = (name: string): string => (NAME.test(name) ? name : MASK);

const ID = /^(?:[a-z]{3}|req)_[a-z0-9]{26,32}$/;
const isOwnId = (text: string): boolean => ID.test(text);

const PLAIN_SEGMENT = /^(?:[a-z][a-z-]{0,31}|v?\d{1,9})$/;
const SEGMENTS_MAX = 8;

/** A path without its query: ids of this service and lower-case words are kept. */
export const redactPath = (path: string): string => {
  const [, ...segments] = path
    .split('?', 1)
    .join('')
    .split('/', SEGMENTS_MAX + 1);
  return (
    segments.map((one) => `/${one === '' || isOwnId(one) || PLAIN_SEGMENT.test(one) ? one : MASK}`).join('') || '/'
  );
};

/** Fields that hold words of the API, whatever else is sent. */
const PLAIN_FIELDS: ReadonlySet<string> = new Set(
  (
    'stream topic template template_id version scheduled_at analysis mode permissions environment events expires_at ' +
    'type scope reason role disposition content_type timezone locale default ttl_seconds granularity status since until'
  ).split(' '),
);
const WORD = /^[\w.:+*/-]{0,40}$/;

/** Whether a text of a body is a word of the API, or an id of this service. */
export const isPlain = (text: string, field: string): boolean =>
  isOwnId(text) || (PLAIN_FIELDS.has(field) && WORD.test(text));
