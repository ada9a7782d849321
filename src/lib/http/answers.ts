import { Readable } from 'node:stream';
import { withTurns } from '../async/async.ts';

/** Clients send a few hundred characters; more is not read. */
const HEADER_CHARACTERS_MAX = 1000;
/** RFC 9110 §12.4.2. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

const preferenceOf = (text: string): { readonly value: string; readonly weight: number } => {
  const [value = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((one) => one.startsWith('q='))?.slice(2) ?? '1';
  return { value, weight: WEIGHT.test(quality) ? Number(quality) : 0 };
};

/**
 * Values of a header of preferences, such as `Accept` or `Accept-Language` (RFC 9110 §12.5): in lower case, without
 * parameters, most wanted first, without those of weight 0.
 */
export const acceptedIn = (header: string | undefined): readonly string[] =>
  (header ?? '')
    .slice(0, HEADER_CHARACTERS_MAX)
    .split(',')
    .map(preferenceOf)
    .filter(({ value, weight }) => value !== '' && weight > 0)
    .sort((left, right) => right.weight - left.weight)
    .map(({ value }) => value);

/** Whether the client has the answer with this tag (RFC 9110 §13.1.2: the comparison is weak). */
export const isNotModified = (
  headers: { readonly 'if-none-match'?: string | undefined },
  etag: string | undefined,
): boolean =>
  (headers['if-none-match'] ?? '').split(',').some((one) => ['*', etag].includes(one.trim().replace(/^W\//, '')));

/** Large JSON answers are written in pieces, so that no answer holds the event loop. */

/** Characters of one piece: 0.1 ms. Larger pieces hold the event loop, smaller ones cost more writes. */
const PIECE_CHARACTERS = 50_000;
/** Smaller answers are written at once, in 5 ms at most. Higher holds the event loop, lower streams answers for no gain. */
const WHOLE_CHARACTERS_MAX = 500_000;

const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/** The JSON of a text without its quotes, in pieces that end between characters. */
function* textPieces(text: string): Generator<string> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PIECE_CHARACTERS;
    if (to < text.length && HIGH_SURROGATE.test(text.slice(from, to).slice(-1))) to -= 1;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
  }
}

function* longText(text: string): Generator<string> {
  yield '"';
  yield* textPieces(text);
  yield '"';
}

function* itemsOf(items: readonly unknown[]): Generator<string> {
  for (const [index, item] of items.entries()) {
    yield index === 0 ? '[' : ',';
    yield* partsOf(item);
  }
  yield items.length === 0 ? '[]' : ']';
}

/** Small parts of the JSON of a value, in order. */
const partsOf = (value: unknown): Iterable<string> => {
  if (typeof value === 'string' && value.length > PIECE_CHARACTERS) return longText(value);
  if (Array.isArray(value)) return itemsOf(value);
  const isPlain = typeof value === 'object' && value !== null && !('toJSON' in value);
  return isPlain ? fieldsOf(value) : [JSON.stringify(value) ?? 'null'];
};

function* fieldsOf(value: object): Generator<string> {
  let separator = '{';
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    yield* partsOf(field);
    separator = ',';
  }
  yield separator === '{' ? '{}' : '}';
}

/** The JSON of a value, in pieces of about `PIECE_CHARACTERS`. */
export function* jsonPieces(value: unknown): Generator<string> {
  let piece = '';
  for (const part of partsOf(value)) {
    piece += part;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

/** Counts characters of texts until there are too many; the rest of JSON is counted as a few each. */
const isLonger = (value: unknown, charactersMax: number): boolean => {
  let left = charactersMax;
  const count = (one: unknown): boolean => {
    left -= typeof one === 'string' ? one.length : 8;
    if (left < 0) return true;
    return typeof one === 'object' && one !== null && Object.values(one).some(count);
  };
  return count(value);
};

async function* inPieces(value: unknown): AsyncGenerator<string> {
  yield* jsonPieces(value);
}

/** The answer itself while it is small, and its JSON as a stream otherwise. */
export const jsonAnswer = (reply: { type(mediaType: string): unknown }, value: unknown): unknown => {
  if (value instanceof Readable || !isLonger(value, WHOLE_CHARACTERS_MAX)) return value;
  reply.type('application/json; charset=utf-8');
  return Readable.from(withTurns(inPieces(value)), { objectMode: false });
};
