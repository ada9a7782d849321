import { colourOf } from './colour.ts';
import { type Declarations, declarationsOf } from './inline-style.ts';

/** The element because of which text is not seen. */
export interface Hider {
  readonly by: string;
  readonly offset: number;
  /** It has a class or an id, by which a style sheet may show it. */
  readonly selectable: boolean;
}

/** What an element passes on to what is in it. */
export interface Visibility {
  /** Nothing within can be seen. */
  readonly removed: Hider | null;
  /** Text without a size of its own cannot be seen. */
  readonly tiny: Hider | null;
  /** Text without a colour of its own cannot be seen. */
  readonly matching: Hider | null;
  readonly colour: string | null;
  /** Null: none was said, or it is an image. */
  readonly background: string | null;
}

export interface StyledElement {
  readonly offset: number;
  readonly name: string;
  attribute(name: string): string | undefined;
}

export const ORDINARY: Visibility = { removed: null, tiny: null, matching: null, colour: null, background: null };

const FONT_PIXELS_MIN = 1;
const NO_COLOUR = new Set(['inherit', 'initial', 'unset', 'currentcolor', 'none', '']);
const IMAGE = /url\(|gradient\(/;
const RELATIVE_SIZE = /(?:em|%|ex|ch|inherit|smaller|larger)$/;

/** What pushes text out of sight, and how far: nobody moves text so far to have it read. */
const PLACED_BY = ['text-indent', 'left', 'top', 'margin-left', 'margin-top'];
const OUT_OF_SIGHT = -900;

const isOutOfSight = (style: Declarations): boolean =>
  PLACED_BY.some((name) => Number.parseFloat(style.get(name) ?? '') <= OUT_OF_SIGHT);

const isZero = (value: string | undefined): boolean => value !== undefined && Number.parseFloat(value) === 0;

const removal = (style: Declarations, element: StyledElement): string | null => {
  if (style.get('display') === 'none') return 'display: none';
  if (style.get('visibility') === 'hidden') return 'visibility: hidden';
  if (isZero(style.get('opacity'))) return 'opacity: 0';
  const isFlat = isZero(style.get('max-height')) || isZero(style.get('height'));
  if (isFlat && style.get('overflow') === 'hidden') return 'a height of 0';
  if (isOutOfSight(style)) return 'a place out of sight';
  return element.attribute('hidden') === undefined ? null : 'the attribute hidden';
};

const hider = (by: string, { offset, attribute }: StyledElement): Hider => ({
  ...{ by, offset },
  selectable: attribute('class') !== undefined || attribute('id') !== undefined,
});

const tinyIn = (parent: Hider | null, style: Declarations, element: StyledElement): Hider | null => {
  if (element.name === 'font' && element.attribute('size') !== undefined) return null;
  const size = style.get('font-size');
  if (size === undefined || (RELATIVE_SIZE.test(size) && !isZero(size))) return parent;
  const number = Number.parseFloat(size);
  return number <= FONT_PIXELS_MIN ? (parent ?? hider(`font-size: ${number}px`, element)) : null;
};

const lastColour = (shorthand: string): string => colourOf(shorthand.slice(shorthand.lastIndexOf(' ') + 1));

const backgroundIn = (parent: string | null, style: Declarations, element: StyledElement): string | null => {
  const shorthand = style.get('background') ?? '';
  if (IMAGE.test(`${shorthand} ${style.get('background-image') ?? ''}`) || element.attribute('background')) return null;
  const written = style.get('background-color') ?? (lastColour(shorthand) || element.attribute('bgcolor')) ?? '';
  const colour = colourOf(written);
  return NO_COLOUR.has(colour) || colour === 'transparent' ? parent : colour;
};

const colourIn = (parent: string | null, style: Declarations, element: StyledElement): string | null => {
  const written = style.get('color') ?? (element.name === 'font' ? element.attribute('color') : undefined) ?? '';
  const colour = colourOf(written);
  return NO_COLOUR.has(colour) ? parent : colour;
};

const matching = (colour: string | null, background: string | null): string | null => {
  if (colour === 'transparent') return 'a transparent colour';
  return colour !== null && colour === background ? 'the colour of its background' : null;
};

/** What an element in another makes of it, by its inline style and its attributes. */
export const visibilityIn = (parent: Visibility, element: StyledElement): Visibility => {
  const style = declarationsOf(element.attribute('style'));
  const removedBy = parent.removed === null ? removal(style, element) : null;
  const colour = colourIn(parent.colour, style, element);
  const background = backgroundIn(parent.background, style, element);
  const matchedBy = matching(colour, background);
  return {
    removed: removedBy === null ? parent.removed : hider(removedBy, element),
    tiny: tinyIn(parent.tiny, style, element),
    matching: matchedBy === null ? null : (parent.matching ?? hider(matchedBy, element)),
    ...{ colour, background },
  };
};

/** Because of what text there is not seen. */
export const hiderOf = (visibility: Visibility): Hider | null =>
  visibility.removed ?? visibility.tiny ?? visibility.matching;
