import type { StartTag } from './tokens.ts';

/** Which text an element hides from readers, by its inline style and attributes. Style sheets are not applied. */

/** Longer styles contain data URIs; the declarations that hide text come before those. */
const STYLE_CHARACTERS_MAX = 4_000;

export type Declarations = ReadonlyMap<string, string>;

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
export const declarationsOf = (style: string | undefined): Declarations => {
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
export interface Hider {
  /** `display: none`. */
  readonly by: string;
  readonly offset: number;
  /** It has a class or an id by which a style sheet may show it. */
  readonly selectable: boolean;
}

/** Visibility that an element passes on to its children. */
export interface Visibility {
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

export const ORDINARY: Visibility = { removed: null, tiny: null, matching: null, colour: null, background: null };

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
export const visibilityIn = (parent: Visibility, element: StartTag): Visibility => {
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
export const hiderOf = (visibility: Visibility): Hider | null =>
  visibility.removed ?? visibility.tiny ?? visibility.matching;
