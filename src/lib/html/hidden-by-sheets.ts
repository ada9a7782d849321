import type { StartTag } from './tokens.ts';

/**
 * Elements that the style sheets of a mail hide by a class or an id, mostly previews. Only unconditional rules count,
 * not those of `@media`. Time is linear in the size.
 */

const SIMPLE = /^[a-z0-9]*([.#][\w-]+)$/i;
const BRACES = /([{}])/;

const withoutComments = (css: string): string =>
  css
    .split('*/')
    .map((piece) => piece.split('/*', 1)[0] ?? '')
    .join(' ');

const sheetsIn = function* (html: string): Generator<string> {
  const lower = html.toLowerCase();
  for (let at = lower.indexOf('<style'); at >= 0; at = lower.indexOf('<style', at)) {
    const end = lower.indexOf('</style', at);
    if (end < 0) return;
    yield html.slice(html.indexOf('>', at) + 1, end);
    at = end;
  }
};

interface Rule {
  readonly selectors: string;
  readonly declarations: string;
}

interface Place {
  readonly depth: number;
  readonly selectors: string;
  readonly before: string;
}

const step = (at: Place, piece: string): Place => {
  const { depth, selectors, before } = at;
  if (piece === '}') return { ...at, depth: Math.max(0, depth - 1) };
  return piece === '{'
    ? { depth: depth + 1, selectors: depth === 0 ? before : selectors, before: '' }
    : { ...at, before: piece };
};

/** Top-level rules. */
const rulesIn = (css: string): readonly Rule[] => {
  const rules: Rule[] = [];
  let at: Place = { depth: 0, selectors: '', before: '' };
  for (const piece of withoutComments(css).split(BRACES)) {
    if (piece === '}' && at.depth === 1) rules.push({ selectors: at.selectors, declarations: at.before });
    at = step(at, piece);
  }
  return rules;
};

const namesIn = ({ selectors }: Rule): readonly string[] =>
  selectors
    .slice(selectors.lastIndexOf(';') + 1)
    .split(',')
    .flatMap((selector) => SIMPLE.exec(selector.trim())?.[1] ?? []);

/** @returns true for an element that a sheet hides. @param hides true for declarations that hide an element. */
export const hiddenBySheets = (
  html: string,
  hides: (declarations: string) => boolean,
): ((tag: StartTag) => boolean) => {
  const rules = [...sheetsIn(html)].flatMap(rulesIn);
  const hidden = new Set(rules.filter(({ declarations }) => hides(declarations)).flatMap(namesIn));
  if (hidden.size === 0) return () => false;
  return ({ hasAttributes, attribute }) => {
    if (!hasAttributes) return false;
    const classes = (attribute('class') ?? '').split(/\s+/);
    return hidden.has(`#${attribute('id')}`) || classes.some((name) => hidden.has(`.${name}`));
  };
};
