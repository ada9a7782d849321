import type { SentJson } from '../../lib/http/http.ts';
import { parseMailbox } from '../../lib/mime/mime.ts';
import { type Fault, type Token, walkJson } from './walk-json.ts';

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
    .map((word) => (AT_SIGN.test(word) && word !== '@' ? MASK : word)) // "it has no @" is about the sign
    .join(' ')
    .slice(0, maximum);

/** A name of a field as programs give them. */
const NAME = /^[A-Za-z_$][\w.$-]{0,63}$/;
/** The name of a member, unless it may be more than a name. */
export const redactName = (name: string): string => (NAME.test(name) ? name : MASK);

/** An item of a batch. */
const ITEM = /^messages\[\d{1,4}\]\./;
/** The name of a field as an error's `details` have it: `messages[4].html`. */
export const redactField = (field: string): string => {
  const [item = ''] = ITEM.exec(field) ?? [];
  return item + redactName(field.slice(item.length));
};

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
const isPlain = (text: string, field: string): boolean => isOwnId(text) || (PLAIN_FIELDS.has(field) && WORD.test(text));

/** The text that a refused body is shown as, and how places in the body that was sent are counted. */

/** A stretch of the shown text. */
interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Maximum length of the shown text. */
const SHOWN_CHARACTERS_MAX = 4_000;
const INDENT = '  ';

/** Lines and columns of offsets that only grow. */
const createRuler = (text: string) => {
  let line = 1;
  let lineStart = 0;
  /** Characters of the line that are not shown because contents were removed. */
  let missing = 0;
  const endFrom = (start: number): number => {
    const next = text.indexOf('\n', start);
    return next < 0 ? Number.POSITIVE_INFINITY : next;
  };
  let lineEnd = endFrom(0);
  const goTo = (offset: number): void => {
    while (lineEnd < offset) {
      line += 1;
      lineStart = lineEnd + 1;
      missing = 0;
      lineEnd = endFrom(lineStart);
    }
  };
  return {
    at: (offset: number) => {
      goTo(offset);
      return { line, column: offset - lineStart + missing + 1 };
    },
    lengthen: (offset: number, by: number): void => {
      goTo(offset);
      missing += by;
    },
  };
};

/** Builds the shown text up to its limit. @param formatted inserts line breaks and indentation, and ignores the original white space. */
const createShownText = (formatted: boolean) => {
  let text = '';
  let cut = false;
  let depth = 0;
  let begins = false;

  const write = (piece: string): TextRange | null => {
    cut ||= text.length + piece.length > SHOWN_CHARACTERS_MAX;
    if (cut) return null;
    text += piece;
    return { start: text.length - piece.length, end: text.length };
  };
  const breakLine = (): void => {
    if (formatted && begins) write(`\n${INDENT.repeat(depth)}`);
    begins = false;
  };

  return {
    text: () => text,
    isCut: () => cut,
    space: (piece: string): TextRange | null => (formatted ? null : write(piece)),
    item: (piece: string): TextRange | null => {
      breakLine();
      return write(piece);
    },
    open: (sign: string): TextRange | null => {
      breakLine();
      depth += 1;
      const place = write(sign);
      begins = true;
      return place;
    },
    close: (sign: string): TextRange | null => {
      depth -= 1;
      begins = !begins; // an empty one stays on its line
      breakLine();
      return write(sign);
    },
    separate: (sign: string): TextRange | null => {
      begins = sign === ',';
      return write(sign === ':' && formatted ? ': ' : sign);
    },
  };
};

/**
 * Redacts a refused body: its structure, names, numbers and words of the API stay; all other texts become `***`, addresses
 * keep their domain, and contents of attachments are removed. Anything not known to be harmless is masked, so that an
 * unforeseen field reveals nothing. The same pass locates fields in the body as it was sent.
 */

/** A place in the body as it was sent. */
export interface Place {
  /** JSON Pointer (RFC 6901); null: not a member. */
  readonly pointer: string | null;
  /** Both from 1; columns in UTF-16 code units. */
  readonly line: number;
  readonly column: number;
  /** null: it is not shown. */
  readonly marked: TextRange | null;
}

export interface RedactedBody {
  readonly text: string;
  /** It was sent in one line, and is shown in many. */
  readonly formatted: boolean;
  /** There is more. */
  readonly cut: boolean;
  /** By path, such as `to[1].address`: the requested fields and their containers. */
  readonly places: ReadonlyMap<string, Place>;
  /** Places of the names of requested members. */
  readonly names: ReadonlyMap<string, Place>;
  /** The place where the JSON becomes invalid. */
  readonly fault: (Place & Pick<Fault, 'expected'>) | null;
  /** Parsed; those whose domains are shown. */
  readonly addresses: readonly string[];
}

/** Names, values, marks and spaces. More takes longer than 2 ms of the event loop, less finds no places in large bodies. */
const TOKENS_MAX = 8_000;
/** Each costs a digest, by which erasures find the request. */
const ADDRESSES_MAX = 50;
/** Longer texts are neither addresses nor words. */
const READ_CHARACTERS_MAX = 400;
const NUMBER_CHARACTERS_MAX = 24;

/** Fields whose contents are entirely the customer's own. */
const PRIVATE =
  /(?:^|[.\]])(?:metadata|variables|headers|tags|data|Metadata|Headers|Tag|TemplateModel|custom_args|categories|dynamic_template_data|substitutions|sections)(?:[.[]|$)/;
/** The last name of a path. */
const LAST_NAME = /(?:^|\.)([^.[\]]*)(?:\[\d+\])*$/;

const isPrivate = (token: Token): boolean => PRIVATE.test(token.path());
const fieldOf = (token: Token): string => LAST_NAME.exec(token.path())?.[1] ?? '';

const SIGNS = { '{': 'open', '[': 'open', '}': 'close', ']': 'close', ',': 'separate', ':': 'separate' } as const;

const masked = (count: number, what: string): string =>
  JSON.stringify(count === 0 ? '' : `${MASK} (${count} ${what}${count === 1 ? '' : 's'})`);

/** Containers of a path, innermost first: `to[1].address` is in `to[1]` and in `to`. */
export const outerPaths = (path: string): readonly string[] => {
  const outer: string[] = [];
  let end = Math.max(path.lastIndexOf('.'), path.lastIndexOf('['));
  while (end > 0) {
    outer.push(path.slice(0, end));
    end = Math.max(path.lastIndexOf('.', end - 1), path.lastIndexOf('[', end - 1));
  }
  return outer;
};

const createMasks = (text: string, sent: SentJson) => {
  const addresses = new Set<string>();

  const ofString = (value: string): string => {
    const address = parseMailbox(value);
    if (typeof address === 'string') return masked(value.length, 'character');
    addresses.add(address.address);
    return JSON.stringify(`${MASK}@${address.address.slice(address.address.lastIndexOf('@') + 1)}`);
  };

  const string = (token: Token): string => {
    const raw = text.slice(token.at, token.end);
    if (raw.length > READ_CHARACTERS_MAX) return masked(raw.length - 2, 'character');
    const value = JSON.parse(raw) as string; // the walk has read it as one
    const content = sent.contentBytes(value);
    if (content !== undefined) return masked(content, 'byte');
    if (isPrivate(token)) return masked(value.length, 'character');
    return isPlain(value, fieldOf(token)) ? JSON.stringify(value) : ofString(value);
  };

  const number = (token: Token): string => {
    const raw = text.slice(token.at, token.end);
    return raw.length > NUMBER_CHARACTERS_MAX || isPrivate(token) ? `"${MASK}"` : raw;
  };

  const name = (token: Token): string => JSON.stringify(redactName(JSON.parse(text.slice(token.at, token.end))));

  return { addresses, string, number, name };
};

/** Shows tokens, each masked by its kind. */
const createShow = (text: string, sent: SentJson, formatted: boolean) => {
  const shown = createShownText(formatted);
  const masks = createMasks(text, sent);

  const show = (token: Token): TextRange | null => {
    const raw = (): string => text.slice(token.at, token.end);
    switch (token.kind) {
      case 'space':
        return shown.space(raw());
      case 'mark':
        return shown[SIGNS[raw() as keyof typeof SIGNS]](raw());
      case 'name':
        return shown.item(masks.name(token));
      case 'string':
        return shown.item(masks.addresses.size < ADDRESSES_MAX ? masks.string(token) : `"${MASK}"`);
      case 'number':
        return shown.item(masks.number(token));
      case 'word':
        return shown.item(raw());
      default:
        return token.kind satisfies never;
    }
  };
  return { ...shown, addresses: masks.addresses, show };
};

/** Notes the places of the requested fields and of their containers. */
const createPlaces = (text: string, asked: readonly string[]) => {
  const wanted = new Set(asked.flatMap((path) => [path, ...outerPaths(path)]));
  const places = new Map<string, Place>();
  const names = new Map<string, Place>();

  const isMember = ({ kind, at }: Token): boolean =>
    kind === 'mark' ? '{['.includes(text.charAt(at)) : kind !== 'space';

  const note = (token: Token, place: () => Place): void => {
    if (places.size === wanted.size || !isMember(token)) return;
    const found = token.kind === 'name' ? names : places;
    const path = token.path();
    if (wanted.has(path) && !found.has(path)) found.set(path, place());
  };
  return { places, names, note, isDone: () => places.size === wanted.size };
};

/** @param asked paths of fields to locate. Takes time linear in the kept part of the body, up to `TOKENS_MAX`. */
export const redactBody = (sent: SentJson, asked: readonly string[]): RedactedBody => {
  const { bytes, isWhole } = sent.beginning();
  const text = bytes.toString('utf8');
  const formatted = !text.trim().includes('\n');
  const shown = createShow(text, sent, formatted);
  const ruler = createRuler(text);
  const { places, names, note, isDone } = createPlaces(text, asked);

  /** A marker is shorter than the text that it replaced. */
  const measure = (token: Token): void => {
    if (token.kind !== 'string' || token.end - token.at > READ_CHARACTERS_MAX) return;
    const raw = text.slice(token.at + 1, token.end - 1);
    const content = sent.contentBytes(raw);
    if (content !== undefined) ruler.lengthen(token.end, content - raw.length);
  };

  let tokens = 0;
  const fault = walkJson(text, (token) => {
    tokens += 1;
    const marked = shown.isCut() ? null : shown.show(token);
    note(token, () => ({ pointer: token.pointer(), ...ruler.at(token.at), marked }));
    measure(token);
    return tokens < TOKENS_MAX && !(shown.isCut() && isDone());
  });
  const isBroken = fault !== null && (isWhole || fault.at < text.length);
  const broken = isBroken ? { pointer: null, ...ruler.at(fault.at), ...fault, marked: shown.item('…') } : null;
  return {
    text: shown.text(),
    formatted,
    cut: shown.isCut() || fault !== null || tokens >= TOKENS_MAX,
    places,
    names,
    fault: broken,
    addresses: [...shown.addresses],
  };
};
