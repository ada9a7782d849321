import { decodeHTMLStrict } from 'entities';
import {
  type Context,
  Drop,
  type Emitter,
  evalToken,
  type FilteredValueToken,
  type Liquid,
  Value,
  type ValueToken,
} from 'liquidjs';

/**
 * Escaping filters, for html whose outputs are escaped anyway: a value is escaped once, wherever that was requested.
 * `escape` returns a value with two texts. Other filters and `raw` see the escaped one, like everywhere in Liquid. On
 * output the other one is used, to which the same filters were applied, and it is escaped then.
 */

interface EscapedText {
  /** Escaped text: seen by comparisons, filters and `raw`. */
  readonly text: string;
  /** The value before it was escaped; null: `text` is html from `newline_to_br` or `capture`, and stays unchanged. */
  readonly plain: string | null;
}

/** liquidjs extracts a value from a `Drop` wherever it needs one. */
const escapedTexts = new WeakMap<object, EscapedText>();

/** liquidjs recognizes its values by this class. */
class EscapedDrop extends Drop {}

const escapedText = (value: EscapedText): Drop => {
  const { text } = value;
  const drop = Object.assign(new EscapedDrop(), {
    valueOf: () => text,
    liquidMethodMissing: (name: unknown) => (name === 'size' ? text.length : undefined),
  });
  escapedTexts.set(drop, value);
  return drop;
};

const escapedTextOf = (value: unknown): EscapedText | undefined =>
  typeof value === 'object' && value !== null ? escapedTexts.get(value) : undefined;

type Handler = (this: unknown, value: unknown, ...more: unknown[]) => unknown;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
/** Leaves an `&` that begins a character reference. */
const UNESCAPED = /[<>"']|&(?!(?:[a-z][a-z0-9]*|#\d+|#x[0-9a-f]+);)/gi;

const escapedOnce = (text: string): string => text.replaceAll(UNESCAPED, (character) => ENTITIES[character] ?? '');

const LINE_BREAK = /\r?\n/g;

/** Filters from text to text. */
const TEXT_FILTERS: readonly string[] = [
  'append',
  'capitalize',
  'downcase',
  'prepend',
  'remove',
  'remove_first',
  'replace',
  'replace_first',
  'slice',
  'strip',
  'strip_newlines',
  'truncate',
  'truncatewords',
  'upcase',
];

/** Applies a filter to both texts. */
const keepingEscape = (filter: Handler): Handler =>
  function (value, ...more) {
    const escaped = escapedTextOf(value);
    if (escaped === undefined || escaped.plain === null) return filter.call(this, value, ...more);
    const text = String(filter.call(this, escaped.text, ...more));
    return escapedText({ text, plain: String(filter.call(this, escaped.plain, ...more)) });
  };

const handlerOf = (liquid: Liquid, name: string): Handler => {
  const filter = liquid.filters[name];
  if (typeof filter !== 'function') throw new Error(`liquidjs has no filter '${name}'`);
  return filter as Handler;
};

/** The parts of three tags of liquidjs that its types leave out. */
interface RenderedTag {
  readonly variable?: string;
  readonly value?: Value;
  readonly candidates?: readonly FilteredValueToken[];
  readonly group?: ValueToken;
  render(context: Context, emitter: Emitter): Generator<unknown, unknown, unknown>;
}

const tagOf = (liquid: Liquid, name: string): (new (...given: unknown[]) => RenderedTag) => {
  const tag = liquid.tags[name];
  if (tag === undefined) throw new Error(`liquidjs has no tag '${name}'`);
  return tag as unknown as new (
    ...given: unknown[]
  ) => RenderedTag;
};

/** The next candidate of each `cycle` in a template, by its group and candidates. */
const nextOf = (context: Context, cycle: string, candidates: number): number => {
  const turns = context.getRegister('cycle', {}) as Record<string, number>;
  const turn = turns[cycle] ?? 0;
  turns[cycle] = (turn + 1) % candidates;
  return turn;
};

/**
 * A `capture` contains html whose outputs are escaped, so it is not escaped again on output. `echo` and `cycle` are
 * ordinary outputs, but liquidjs escapes the value they have already extracted from a `Drop`.
 */
const keepTexts = (liquid: Liquid): void => {
  function* outputOf(value: Value, context: Context): Generator<unknown, unknown, unknown> {
    const output = liquid.options.outputEscape as ((this: unknown, value: unknown) => string) | undefined;
    const found = yield value.value(context, false);
    return value.filters.at(-1)?.raw === true ? found : output?.call({ context, liquid }, found);
  }
  const Capture = class extends tagOf(liquid, 'capture') {
    override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
      yield* super.render(context, emitter);
      const scope = context.bottom() as Record<string, unknown>;
      const name = this.variable ?? '';
      scope[name] = escapedText({ text: String(scope[name]), plain: null });
    }
  };
  const Echo = class extends tagOf(liquid, 'echo') {
    override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
      if (this.value !== undefined) emitter.write(yield* outputOf(this.value, context));
    }
  };
  const Cycle = class extends tagOf(liquid, 'cycle') {
    override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
      const candidates = this.candidates ?? [];
      const group = yield evalToken(this.group, context);
      const cycle = `${group}:${candidates.map((each) => each.getText()).join(',')}`;
      const candidate = candidates[nextOf(context, cycle, candidates.length)];
      if (candidate !== undefined) emitter.write(yield* outputOf(new Value(candidate, liquid), context));
    }
  };
  liquid.registerTag('capture', Capture as unknown as Parameters<Liquid['registerTag']>[1]);
  liquid.registerTag('cycle', Cycle as unknown as Parameters<Liquid['registerTag']>[1]);
  liquid.registerTag('echo', Echo as unknown as Parameters<Liquid['registerTag']>[1]);
};

/** liquidjs extracts most values from a `Drop`, but not all. */
const seeTexts = (liquid: Liquid): void => {
  for (const [name, filter] of Object.entries(liquid.filters)) {
    if (typeof filter !== 'function' || TEXT_FILTERS.includes(name)) continue;
    liquid.registerFilter(name, function (value, ...more) {
      return filter.call(this, escapedTextOf(value)?.text ?? value, ...more);
    });
  }
};

const asText = (value: unknown): string => {
  const given = escapedTextOf(value)?.text ?? value;
  if (given === null || given === undefined) return '';
  return Array.isArray(given) ? given.map(asText).join('') : String(given);
};

/** Filters for html. @returns the function that escapes an output. */
export const addHtmlEscapeFilters = (liquid: Liquid): ((this: unknown, value: unknown) => string) => {
  const escapeHtml = handlerOf(liquid, 'escape');
  const escaping: Handler = function (value) {
    if (escapedTextOf(value) !== undefined) return value;
    return escapedText({ text: String(escapeHtml.call(this, value)), plain: asText(value) });
  };
  const orDefault = handlerOf(liquid, 'default');
  seeTexts(liquid);
  for (const name of TEXT_FILTERS) liquid.registerFilter(name, keepingEscape(handlerOf(liquid, name)));
  liquid.registerFilter('escape', escaping);
  liquid.registerFilter('escape_once', (value) => {
    if (escapedTextOf(value) !== undefined) return value;
    const text = asText(value);
    return escapedText({ text: escapedOnce(text), plain: decodeHTMLStrict(text) });
  });
  liquid.registerFilter('newline_to_br', function (value) {
    const { text } = escapedTextOf(escaping.call(this, value)) ?? { text: '' };
    return escapedText({ text: text.replaceAll(LINE_BREAK, '<br />\n'), plain: null });
  });
  liquid.registerFilter('default', function (value, ...more) {
    const escaped = escapedTextOf(value);
    return escaped === undefined || escaped.text === '' ? orDefault.call(this, escaped?.text ?? value, ...more) : value;
  });
  keepTexts(liquid);
  return function (value) {
    const escaped = escapedTextOf(value);
    if (escaped === undefined) return String(escapeHtml.call(this, value));
    return escaped.plain === null ? escaped.text : String(escapeHtml.call(this, escaped.plain));
  };
};

/** Filters for text and subjects, which show line breaks unchanged. */
export const addTextEscapeFilters = (liquid: Liquid): void => {
  liquid.registerFilter('escape_once', (value) => escapedOnce(asText(value)));
  liquid.registerFilter('newline_to_br', (value) => value);
};
