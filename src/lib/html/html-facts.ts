import type { ElementFact, HiddenTextFact, HtmlFacts, ImageFact, LinkFact, Span } from './facts.ts';
import { targetOf } from './hosts.ts';
import { readHtml, type TextRun } from './read-html.ts';
import { seenCharacters } from './text.ts';
import type { Attribute, StartTag } from './tokens.ts';
import { declarationsOf, type Hider, hiderOf, ORDINARY, type Visibility, visibilityIn } from './visibility.ts';

/** How text in an element is read: by people, by programs (titles), or not as text (styles). */
type TextKind = 'body' | 'unseen' | 'raw';

const RAW: ReadonlySet<string> = new Set(['style', 'script', 'xml']);
const UNSEEN: ReadonlySet<string> = new Set('head title textarea iframe noembed noframes template object'.split(' '));

const kindIn = (kind: TextKind, name: string): TextKind => {
  if (RAW.has(name)) return 'raw';
  return UNSEEN.has(name) && kind === 'body' ? 'unseen' : kind;
};

/** Elements whose text shows how something is written: a template marker in it is intentional. */
const CODE: ReadonlySet<string> = new Set(['code', 'kbd', 'samp']);

/** Elements that run, ask for input or load something else into the page. */
const ACTIVE: ReadonlySet<string> = new Set(
  'script iframe frame frameset object embed applet form input select textarea base portal'.split(' '),
);
const HANDLER = /^on[a-z]{3,30}$/;
/** Data that mail programs read (orders, flights); it does not run. */
const DATA_SCRIPT = 'application/ld+json';

const isActive = ({ name, attribute }: StartTag): boolean => {
  if (name === 'script') return attribute('type')?.trim().toLowerCase() !== DATA_SCRIPT;
  if (name === 'meta') return attribute('http-equiv')?.trim().toLowerCase() === 'refresh';
  return ACTIVE.has(name);
};

const activeContentsOf = (tag: StartTag, attributes: readonly Attribute[]): readonly ElementFact[] => [
  ...(isActive(tag) ? [{ what: `<${tag.name}>`, offset: tag.offset }] : []),
  ...attributes
    .filter(({ name }) => HANDLER.test(name))
    .map(({ name }) => ({ what: `the attribute ${name}`, offset: tag.offset })),
];

const isExternalStyle = ({ name, attribute }: StartTag): boolean =>
  name === 'link' && (attribute('rel')?.toLowerCase().split(/\s/).includes('stylesheet') ?? false);

const IMPORT = /@import\b/gi;
const MEDIA = '@media';

/** Collects facts about the document as a whole, and content that does not belong in mail. */
const createDocumentCollector = () => {
  const activeContents: ElementFact[] = [];
  const externalStyles: ElementFact[] = [];
  let root: HtmlFacts['root'] = null;
  let hasMediaQueries = false;

  return {
    tag: (tag: StartTag, attributes: readonly Attribute[]): void => {
      const { name, offset } = tag;
      if (name === 'html') root ??= { offset, lang: tag.attribute('lang') ?? '' };
      if (isExternalStyle(tag)) externalStyles.push({ what: '<link>', offset });
      for (const found of activeContentsOf(tag, attributes)) activeContents.push(found);
    },
    /** @param offset where the text of a style element begins. */
    css: (text: string, offset: number): void => {
      hasMediaQueries ||= text.includes(MEDIA);
      for (const { index } of text.matchAll(IMPORT)) externalStyles.push({ what: '@import', offset: offset + index });
    },
    facts: () => ({ activeContents, externalStyles, root, hasMediaQueries }),
  };
};

/** Longer than any host name that readers see. */
const LINK_TEXT_CHARACTERS_MAX = 200;

type OpenLink = Omit<LinkFact, 'text' | 'target'> & { text: string };

/** Links with their texts. */
const createLinkCollector = () => {
  const links: LinkFact[] = [];
  let open: OpenLink | null = null;

  const end = (): void => {
    if (open !== null) links.push({ ...open, text: open.text.trim(), target: targetOf(open.href) });
    open = null;
  };

  const start = ({ offset, attribute }: StartTag): void => {
    end();
    const href = attribute('href');
    if (href !== undefined) open = { offset, href, text: '' };
  };

  /** An `<area>` of an image map is a link without content. */
  const area = ({ offset, attribute }: StartTag): void => {
    const href = attribute('href');
    if (href !== undefined) links.push({ offset, href, target: targetOf(href), text: attribute('alt') ?? '' });
  };

  return {
    tag: (tag: StartTag): void => {
      if (tag.name === 'a') start(tag);
      else if (tag.name === 'area') area(tag);
    },
    text: (text: string): void => {
      if (open !== null) open.text += text.slice(0, Math.max(0, LINK_TEXT_CHARACTERS_MAX - open.text.length));
    },
    end,
    links,
  };
};

/** Length of the text that is compared with the plain text; the rest is only counted. */
const VISIBLE_CHARACTERS_MAX = 20_000;

type Amount = Pick<HiddenTextFact, 'characters' | 'atStart'>;

/** Sorts text into visible and hidden. */
const createTextCollector = () => {
  const hidden = new Map<Hider, Amount>();
  const visible: string[] = [];
  let visibleKept = 0;
  let visibleCharacters = 0;

  const hide = (hider: Hider, characters: number): void => {
    const { characters: before, atStart } = hidden.get(hider) ?? { characters: 0, atStart: visibleCharacters === 0 };
    hidden.set(hider, { characters: before + characters, atStart });
  };

  const show = (text: string, characters: number): void => {
    visibleCharacters += characters;
    if (visibleKept >= VISIBLE_CHARACTERS_MAX) return;
    visible.push(text);
    visibleKept += text.length;
  };

  return {
    add: (text: string, visibility: Visibility): void => {
      const characters = seenCharacters(text);
      if (characters === 0) return;
      const hider = hiderOf(visibility);
      if (hider === null) show(text, characters);
      else hide(hider, characters);
    },
    facts: () => ({
      hiddenTexts: Array.from(hidden, ([hider, amount]): HiddenTextFact => ({ ...hider, ...amount })),
      visibleText: visible.join(' ').slice(0, VISIBLE_CHARACTERS_MAX),
      visibleCharacters,
    }),
  };
};

/** Long enough for any address. A data URI can be as large as the mail. */
const SOURCE_CHARACTERS_MAX = 4_000;

/** @param visibility of the image itself. */
const readImage = ({ offset, attribute }: StartTag, visibility: Visibility): ImageFact => {
  const style = declarationsOf(attribute('style'));
  const src = (attribute('src') ?? '').slice(0, SOURCE_CHARACTERS_MAX);
  return {
    offset,
    src,
    target: targetOf(src),
    alt: attribute('alt') ?? null,
    width: attribute('width') ?? style.get('width') ?? null,
    height: attribute('height') ?? style.get('height') ?? null,
    hidden: hiderOf(visibility) !== null,
  };
};

/** CSS has braces of its own, which are no template markers. */
const attributeSpans = (attributes: readonly Attribute[]): readonly Span[] =>
  attributes
    .filter(({ name, value }) => value !== '' && name !== 'style')
    .map(({ start, end }) => ({ start, end, kind: 'attribute' }));

interface Surroundings {
  readonly name: string;
  readonly visibility: Visibility;
  readonly kind: TextKind;
  readonly isCode: boolean;
}

/** All facts that the rules need about the html, validity included, from one pass. */
export const htmlFacts = (source: string): HtmlFacts => {
  const document = createDocumentCollector();
  const links = createLinkCollector();
  const texts = createTextCollector();
  const images: ImageFact[] = [];
  const spans: Span[] = [];
  const repeatedAttributes: ElementFact[] = [];

  const start = (tag: StartTag, { visibility: outer, kind, isCode }: Surroundings): Surroundings => {
    const { name } = tag;
    links.tag(tag);
    const { attributes } = tag;
    document.tag(tag, attributes);
    for (const span of attributeSpans(attributes)) spans.push(span);
    const visibility = visibilityIn(outer, tag);
    if (name === 'img') images.push(readImage(tag, visibility));
    return { name, visibility, kind: kindIn(kind, name), isCode: isCode || CODE.has(name) };
  };

  const takeText = (run: TextRun, { name, kind, visibility, isCode }: Surroundings): void => {
    if (name === 'style') document.css(source.slice(run.start, run.end), run.start);
    if (kind === 'raw') return;
    spans.push({ start: run.start, end: run.end, kind: isCode ? 'code' : 'text' });
    if (kind === 'body') texts.add(run.text, visibility);
    links.text(run.text);
  };

  const { problems, depth } = readHtml<Surroundings>(source, {
    root: { name: '', visibility: ORDINARY, kind: 'body', isCode: false },
    start,
    end: ({ name }) => {
      if (name === 'a') links.end();
    },
    strayEnd: (name) => {
      if (name === 'a') links.end();
    },
    text: takeText,
    repeatedAttribute: (name, offset) => repeatedAttributes.push({ what: name, offset }),
  });
  links.end();
  return {
    source,
    problems: problems(),
    repeatedAttributes,
    depth,
    links: links.links,
    images,
    spans,
    ...document.facts(),
    ...texts.facts(),
  };
};
