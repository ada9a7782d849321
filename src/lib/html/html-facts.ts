import type { ElementFact, HiddenTextFact, HtmlFacts, ImageFact, LinkFact, Span } from './facts.ts';
import { targetOf } from './hosts.ts';
import { readHtml, type TextRun } from './read-html.ts';
import { seenCharacters } from './text.ts';
import type { Attribute, StartTag } from './tokens.ts';

/** Which text an element hides from readers, by its inline style and attributes. Style sheets are not applied. */

/** Longer styles contain data URIs; the declarations that hide text come before those. */
const STYLE_CHARACTERS_MAX = 4_000;

type Declarations = ReadonlyMap<string, string>;

const NO_DECLARATIONS: Declarations = new Map();
const IMPORTANT = '!important';

const valueIn = (written: string): string => {
  const value = written.trim().toLowerCase();
  return value.endsWith(IMPORTANT) ? value.slice(0, -IMPORTANT.length).trimEnd() : value;
};

/**
 * The declarations of a `style` attribute in lower case, the last of each name. Semicolons in strings and `url()` cut
 * values, but such values are never looked up.
 */
const declarationsOf = (style: string | undefined): Declarations => {
  if (style === undefined || style === '') return NO_DECLARATIONS;
  const declarations = new Map<string, string>();
  for (const declaration of style.slice(0, STYLE_CHARACTERS_MAX).split(';')) {
    const colon = declaration.indexOf(':');
    if (colon > 0)
      declarations.set(declaration.slice(0, colon).trim().toLowerCase(), valueIn(declaration.slice(colon + 1)));
  }
  return declarations;
};

/** The names that mail uses; any other name equals only itself. */
const COLOURS: Readonly<Record<string, string>> = {
  white: '#ffffff',
  black: '#000000',
  red: '#ff0000',
  green: '#008000',
  blue: '#0000ff',
  yellow: '#ffff00',
  gray: '#808080',
  grey: '#808080',
  silver: '#c0c0c0',
  whitesmoke: '#f5f5f5',
  snow: '#fffafa',
};

const COLOUR_CHARACTERS_MAX = 40;
const SHORT_HEX = /^#[0-9a-f]{3}$/;
const BARE_HEX = /^[0-9a-f]{6}$/;
const RGB = /^rgb\(\s?(\d{1,3})[ ,]\s?(\d{1,3})[ ,]\s?(\d{1,3})\s?\)$/;

const TRANSPARENT = /^(?:rgba|hsla)\(.*[ ,/]\s?0?\.?0+%?\s?\)$/;

const twoDigits = (number: string): string => Number(number).toString(16).padStart(2, '0');

/** A colour in one spelling, so that equal colours are equal strings. */
const colourOf = (written: string): string => {
  const text = written.slice(0, COLOUR_CHARACTERS_MAX).trim().toLowerCase();
  const rgb = RGB.exec(text);
  if (rgb !== null) return `#${rgb.slice(1).map(twoDigits).join('')}`;
  if (TRANSPARENT.test(text)) return 'transparent';
  if (SHORT_HEX.test(text)) return text.replaceAll(/[0-9a-f]/g, '$&$&');
  return BARE_HEX.test(text) ? `#${text}` : (COLOURS[text] ?? text);
};

/** The element that hides text. */
interface Hider {
  /** `display: none`. */
  readonly by: string;
  readonly offset: number;
  /** It has a class or an id by which a style sheet may show it. */
  readonly selectable: boolean;
}

/** Visibility that an element passes on to its children. */
interface Visibility {
  /** Hides everything inside. */
  readonly removed: Hider | null;
  /** Hides text without a size of its own. */
  readonly tiny: Hider | null;
  /** Hides text without a colour of its own. */
  readonly matching: Hider | null;
  readonly colour: string | null;
  /** Null: no background colour, or an image. */
  readonly background: string | null;
}

const ORDINARY: Visibility = { removed: null, tiny: null, matching: null, colour: null, background: null };

const FONT_PIXELS_MIN = 1;
const NO_COLOUR = new Set(['inherit', 'initial', 'unset', 'currentcolor', 'none', '']);
const IMAGE = /url\(|gradient\(/;
const RELATIVE_SIZE = /(?:em|%|ex|ch|inherit|smaller|larger)$/;

/** Declarations that can move text out of sight, and the distance. Visible text is never moved so far. */
const PLACED_BY = ['text-indent', 'left', 'top', 'margin-left', 'margin-top'];
const OUT_OF_SIGHT = -900;

const isOutOfSight = (style: Declarations): boolean =>
  PLACED_BY.some((name) => Number.parseFloat(style.get(name) ?? '') <= OUT_OF_SIGHT);

const isZero = (value: string | undefined): boolean => value !== undefined && Number.parseFloat(value) === 0;

const removal = (style: Declarations, element: StartTag): string | null => {
  if (style.get('display') === 'none') return 'display: none';
  if (style.get('visibility') === 'hidden') return 'visibility: hidden';
  if (isZero(style.get('opacity'))) return 'opacity: 0';
  const isFlat = isZero(style.get('max-height')) || isZero(style.get('height'));
  if (isFlat && style.get('overflow') === 'hidden') return 'a height of 0';
  if (isOutOfSight(style)) return 'a place out of sight';
  return element.attribute('hidden') === undefined ? null : 'the attribute hidden';
};

const hider = (by: string, { offset, attribute }: StartTag): Hider => ({
  by,
  offset,
  selectable: attribute('class') !== undefined || attribute('id') !== undefined,
});

const tinyIn = (parent: Hider | null, style: Declarations, element: StartTag): Hider | null => {
  if (element.name === 'font' && element.attribute('size') !== undefined) return null;
  const size = style.get('font-size');
  if (size === undefined || (RELATIVE_SIZE.test(size) && !isZero(size))) return parent;
  const number = Number.parseFloat(size);
  return number <= FONT_PIXELS_MIN ? (parent ?? hider(`font-size: ${number}px`, element)) : null;
};

const lastColour = (shorthand: string): string => colourOf(shorthand.slice(shorthand.lastIndexOf(' ') + 1));

const backgroundIn = (parent: string | null, style: Declarations, element: StartTag): string | null => {
  const shorthand = style.get('background') ?? '';
  if (IMAGE.test(`${shorthand} ${style.get('background-image') ?? ''}`) || element.attribute('background')) return null;
  const written = style.get('background-color') ?? (lastColour(shorthand) || element.attribute('bgcolor')) ?? '';
  const colour = colourOf(written);
  return NO_COLOUR.has(colour) || colour === 'transparent' ? parent : colour;
};

const colourIn = (parent: string | null, style: Declarations, element: StartTag): string | null => {
  const written = style.get('color') ?? (element.name === 'font' ? element.attribute('color') : undefined) ?? '';
  const colour = colourOf(written);
  return NO_COLOUR.has(colour) ? parent : colour;
};

const matching = (colour: string | null, background: string | null): string | null => {
  if (colour === 'transparent') return 'a transparent colour';
  return colour !== null && colour === background ? 'the colour of its background' : null;
};

/** The visibility inside an element, derived from that of its parent. */
const visibilityIn = (parent: Visibility, element: StartTag): Visibility => {
  if (!element.hasAttributes) return parent;
  const style = declarationsOf(element.attribute('style'));
  const removedBy = parent.removed === null ? removal(style, element) : null;
  const colour = colourIn(parent.colour, style, element);
  const background = backgroundIn(parent.background, style, element);
  const matchedBy = matching(colour, background);
  return {
    removed: removedBy === null ? parent.removed : hider(removedBy, element),
    tiny: tinyIn(parent.tiny, style, element),
    matching: matchedBy === null ? null : (parent.matching ?? hider(matchedBy, element)),
    colour,
    background,
  };
};

/** The element that hides text here; null if it is visible. */
const hiderOf = (visibility: Visibility): Hider | null => visibility.removed ?? visibility.tiny ?? visibility.matching;

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
