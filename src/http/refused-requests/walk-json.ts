/**
 * Walks a JSON text token by token (RFC 8259) and says where it ends being JSON. In one pass, without recursion, and
 * stops when asked to: `JSON.parse` gives no places, and parsers that do read the whole text first.
 */

export interface Token {
  /** `mark`: one of `{}[],:`. */
  readonly kind: 'space' | 'mark' | 'name' | 'string' | 'number' | 'word';
  /** Offsets in UTF-16 code units. */
  readonly at: number;
  readonly end: number;
  /** Path of a name, a value or an opening bracket, as in details: `to[1].address`; empty: the whole text. */
  path(): string;
  /** The same as a JSON Pointer (RFC 6901). */
  pointer(): string;
}

export interface Fault {
  readonly at: number;
  /** The expected token: `a colon`. */
  readonly expected: string;
}

/** Deeper ones are refused before they are parsed. */
const DEPTH_MAX = 20;
/** The same limit as in details of errors. */
const NAME_CHARACTERS_MAX = 100;

const SPACE = /[ \t\n\r]+/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters end a string
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

interface Frame {
  readonly isMap: boolean;
  /** Path of the container itself. */
  readonly path: string;
  /** Name of the current member. */
  name: string;
  index: number;
}

const EXPECTED = {
  value: 'a value',
  first: 'a value or ]',
  name: 'a name in double quotes',
  firstName: 'a name in double quotes or }',
  colon: 'a colon',
  next: 'a comma or the closing bracket',
  end: 'nothing more',
} as const;
type ExpectedToken = keyof typeof EXPECTED;

const takesValue = (expecting: ExpectedToken): boolean => expecting === 'value' || expecting === 'first';
const takesName = (expecting: ExpectedToken): boolean => expecting === 'name' || expecting === 'firstName';

/** @returns the end of what matches at an offset; -1: it does not. */
const endOf = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
};

const pathOf = (frame: Frame | undefined): string => {
  if (frame === undefined) return '';
  if (!frame.isMap) return `${frame.path}[${frame.index}]`;
  const { name } = frame;
  const shown = name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX)}…` : name;
  return frame.path === '' ? shown : `${frame.path}.${shown}`;
};

const stepOf = ({ isMap, name, index }: Frame): string =>
  isMap ? name.replaceAll('~', '~0').replaceAll('/', '~1') : String(index);

/** Tokens of values that are neither strings nor containers. */
const PLAIN: readonly (readonly [Token['kind'], RegExp])[] = [
  ['number', NUMBER],
  ['word', WORD],
];

/**
 * @param on takes the next token. @returns of `on`: whether to go on.
 * @returns the first place that is not JSON; null: none up to the end, or up to where `on` stopped.
 */
export const walkJson = (text: string, on: (token: Token) => boolean): Fault | null => {
  const frames: Frame[] = [];
  let expecting = 'value' as ExpectedToken;
  let at = 0;
  let goesOn = true;

  const path = (): string => pathOf(frames.at(-1));
  const pointer = (): string => frames.map((frame) => `/${stepOf(frame)}`).join('');

  const emit = (kind: Token['kind'], end: number, then: ExpectedToken): null => {
    goesOn = on({ kind, at, end, path, pointer });
    at = end;
    expecting = then;
    return null;
  };
  const afterValue = (): ExpectedToken => (frames.length === 0 ? 'end' : 'next');

  // Each of these reads a token. @returns what JSON has there instead; null: it was read.

  const open = (isMap: boolean): string | null => {
    if (!takesValue(expecting)) return EXPECTED[expecting];
    if (frames.length === DEPTH_MAX) return `at most ${DEPTH_MAX} levels`;
    const outer = path();
    emit('mark', at + 1, isMap ? 'firstName' : 'first');
    frames.push({ isMap, path: outer, name: '', index: 0 });
    return null;
  };

  const close = (isMap: boolean): string | null => {
    const mayClose = expecting === 'next' || expecting === (isMap ? 'firstName' : 'first');
    if (!mayClose || frames.at(-1)?.isMap !== isMap) return EXPECTED[expecting];
    frames.pop();
    return emit('mark', at + 1, afterValue());
  };

  const separate = (): string | null => {
    const frame = frames.at(-1);
    if (expecting !== 'next' || frame === undefined) return EXPECTED[expecting];
    emit('mark', at + 1, frame.isMap ? 'name' : 'value');
    frame.index += 1;
    return null;
  };

  const name = (frame: Frame, end: number): string | null => {
    frame.name = JSON.parse(text.slice(at, end)) as string; // the expression has read it as one
    return frame.name === '__proto__' ? 'a name other than __proto__' : emit('name', end, 'colon');
  };

  const string = (): string | null => {
    const isName = takesName(expecting);
    if (!isName && !takesValue(expecting)) return EXPECTED[expecting];
    const end = endOf(STRING, text, at);
    if (text[end] !== '"') {
      at = end;
      return 'the rest of a string, with line breaks as \\n, and its closing quote';
    }
    const frame = frames.at(-1);
    return isName && frame !== undefined ? name(frame, end + 1) : emit('string', end + 1, afterValue());
  };

  const plain = (): string | null => {
    if (!takesValue(expecting)) return EXPECTED[expecting];
    for (const [kind, pattern] of PLAIN) {
      const end = endOf(pattern, text, at);
      if (end > at) return emit(kind, end, afterValue());
    }
    return EXPECTED[expecting];
  };

  const read = (): string | null => {
    switch (text[at]) {
      case '{':
      case '[':
        return open(text[at] === '{');
      case '}':
      case ']':
        return close(text[at] === '}');
      case ',':
        return separate();
      case ':':
        return expecting === 'colon' ? emit('mark', at + 1, 'value') : EXPECTED[expecting];
      case '"':
        return string();
      default:
        return plain();
    }
  };

  /** @returns what JSON has instead of the end. */
  const finish = (): string | null => {
    goesOn = false;
    return expecting === 'end' ? null : EXPECTED[expecting];
  };

  const step = (): string | null => {
    const afterSpace = endOf(SPACE, text, at);
    if (afterSpace > at) return emit('space', afterSpace, expecting);
    return at === text.length ? finish() : read();
  };

  while (goesOn) {
    const expected = step();
    if (expected !== null) return { at, expected };
  }
  return null;
};
