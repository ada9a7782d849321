import { type Check, discovery } from '../discovery.ts';
import type { ImageFact } from '../facts.ts';
import { isPixel } from '../is-pixel.ts';

/** Most readers show no image unasked. A product picture with its caption has more, a mail made of pictures less. */
const CHARACTERS_PER_IMAGE_MIN = 50;
/** Icons, of networks and in lists, stand for no text. */
const ICON_PIXELS_MAX = 48;

const isPicture = (image: ImageFact): boolean => {
  const width = Number.parseInt(image.width ?? '', 10);
  return !isPixel(image) && !image.hidden && !(width <= ICON_PIXELS_MAX);
};

/** Mail that says nothing until its images are loaded. */
export const imageHeavy: Check = function* ({ html }) {
  if (html === null) return;
  const count = html.images.filter(isPicture).length;
  if (html.visibleCharacters >= count * CHARACTERS_PER_IMAGE_MIN) return;
  const images = count === 1 ? 'one image' : `${count} images`;
  const said = `the html shows ${images} and text of length ${html.visibleCharacters}`;
  yield discovery('image-heavy', 'html', said);
};
