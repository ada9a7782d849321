import { parseMailbox } from '../../lib/mime/mime.ts';
import type { SentJson } from '../bodies/bounded-json.ts';
import { isPlain, redactName } from './redact-text.ts';
import { createRuler, createShownText, type TextRange } from './shown-text.ts';
import { type Fault, type Token, walkJson } from './walk-json.ts';

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

const MASK = '***';
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
