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
 * Filters that escape, in html whose outputs are escaped anyway: a value is escaped once, wherever it was asked for. A value
 * that `escape` returns is two texts. Other filters and `raw` see the escaped one, as everywhere in Liquid. When it is
 * output, the other one counts, to which the same filters were applied, and it is escaped then.
 */

interface EscapedText {
  /** Escaped: what a comparison, a filter or `raw` sees. */
  readonly text: string;
  /** The value before it was escaped; null: `text` is html, of `newline_to_br` or `capture`, and stays as it is. */
  readonly plain: string | null;
}

/** liquidjs takes a value out of a `Drop` wherever it needs one. */
const escapedTexts = new WeakMap<object, EscapedText>();

/** liquidjs knows its values by this class. */
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
/** `&` that begins a character reference stays. */
const UNESCAPED = /[<>"']|&(?!(?:[a-z][a-z0-9]*|#\d+|#x[0-9a-f]+);)/gi;

const escapedOnce = (text: string): string => text.replaceAll(UNESCAPED, (character) => ENTITIES[character] ?? '');

const LINE_BREAK = /\r?\n/g;

/** Filters that make a text of a text. */
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

/** For each `cycle` of a template, by its group and candidates, the one that comes next. */
const nextOf = (context: Context, cycle: string, candidates: number): number => {
  const turns = context.getRegister('cycle', {}) as Record<string, number>;
  const turn = turns[cycle] ?? 0;
  turns[cycle] = (turn + 1) % candidates;
  return turn;
};

/**
 * A `capture` holds html whose outputs are escaped: shown, it is not escaped again. `echo` and `cycle` are outputs like any
 * other; liquidjs escapes what they have already taken out of a `Drop`.
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

/** liquidjs takes most values out of a `Drop`, but not all. */
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

/** For html. @returns how an output is escaped. */
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

/** For text and subjects, which show a line break as it is. */
export const addTextEscapeFilters = (liquid: Liquid): void => {
  liquid.registerFilter('escape_once', (value) => escapedOnce(asText(value)));
  liquid.registerFilter('newline_to_br', (value) => value);
};
