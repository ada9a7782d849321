import { type Markup, rewriteMarkup } from './markup.ts';

/**
 * Writes the end tags that html may omit (HTML Standard, optional tags): an XML parser would nest the elements after
 * them. Any other open element stays as it is.
 */

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const OPTIONAL = names('li dt dd p tr td th thead tbody tfoot caption colgroup option optgroup rt rp');
const CELLS = names('td th p');
const ROWS = names('td th tr p');
const BLOCKS = names(
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 ' +
    'h5 h6 header hgroup hr main menu nav ol p pre search section table ul',
);

interface Ending {
  /** Elements that the start tag ends. */
  readonly ends: ReadonlySet<string>;
  /** Elements that may be open inside them, and end too. */
  readonly inside: ReadonlySet<string>;
}

const P = names('p');
const ending = (ends: string, inside: ReadonlySet<string> = P): Ending => ({ ends: names(ends), inside });

const GROUP = ending('thead tbody tfoot caption colgroup', ROWS);
const ENDINGS: Readonly<Record<string, Ending>> = {
  li: ending('li'),
  dt: ending('dt dd'),
  dd: ending('dt dd'),
  rt: ending('rt rp'),
  rp: ending('rt rp'),
  option: ending('option'),
  optgroup: ending('optgroup', names('option')),
  td: ending('td th caption colgroup'),
  th: ending('td th caption colgroup'),
  tr: ending('tr caption colgroup', CELLS),
  thead: GROUP,
  tbody: GROUP,
  tfoot: GROUP,
};

const endingOf = (name: string): Ending | undefined => ENDINGS[name] ?? (BLOCKS.has(name) ? ending('p') : undefined);

/** Number of open elements that a start tag ends. */
const endedBy = (open: readonly string[], name: string): number => {
  const found = endingOf(name);
  if (found === undefined) return 0;
  const { ends, inside } = found;
  let ended = 0;
  for (let depth = 1; depth <= open.length; depth += 1) {
    const element = open.at(-depth) ?? '';
    if (ends.has(element)) ended = depth;
    else if (!inside.has(element)) break;
  }
  return ended;
};

/**
 * Number of elements that end inside the element of an end tag; none: it is not open, or an inner element needs its own
 * end tag.
 */
const endedInside = (open: readonly string[], name: string): number => {
  const at = open.lastIndexOf(name);
  const inner = at < 0 ? [] : open.slice(at + 1);
  return inner.every((each) => OPTIONAL.has(each)) ? inner.length : 0;
};

const endTags = (open: string[], count: number): string => {
  const ended = count === 0 ? [] : open.splice(-count).reverse();
  return ended.map((name) => `</${name}>`).join('');
};

/** Number of elements that end with a component: those open after the last one that needs its end tag. */
const endedAtLast = (open: readonly string[]): number =>
  open.length - 1 - open.findLastIndex((name) => !OPTIONAL.has(name));

/** Several of these may write one row together. */
const RAW = 'mj-raw';

const endedBefore = (open: readonly string[], { kind, name }: Markup, isComponent: boolean): number => {
  if (isComponent) return kind === 'end' && name !== RAW ? endedAtLast(open) : 0;
  return kind === 'end' ? endedInside(open, name) : endedBy(open, name);
};

/** @param isComponent true for the tags of components, which contain the html. */
export const withImpliedEndTags = (
  text: string,
  markup: readonly Markup[],
  isComponent: (each: Markup) => boolean,
): string => {
  const open: string[] = [];
  return rewriteMarkup(text, markup, (tag, each) => {
    const { kind, name } = each;
    const ends = endTags(open, endedBefore(open, each, isComponent(each)));
    if (isComponent(each)) open.splice(0);
    else if (kind === 'start') open.push(name);
    else if (kind === 'end' && open.at(-1) === name) open.pop();
    return ends + tag;
  });
};
