import type { ImageFact } from '../../domain/analysis/facts.ts';
import { targetOf } from '../../domain/analysis/hosts.ts';
import { declarationsOf } from './inline-style.ts';
import type { StartTag } from './start-tag.ts';
import { hiderOf, type Visibility } from './visibility.ts';

/** Enough for any address; a data URI can be as large as the mail. */
const SOURCE_CHARACTERS_MAX = 4_000;

/** @param visibility of the image itself. */
export const readImage = ({ offset, attribute }: StartTag, visibility: Visibility): ImageFact => {
  const style = declarationsOf(attribute('style'));
  const src = (attribute('src') ?? '').slice(0, SOURCE_CHARACTERS_MAX);
  return {
    ...{ offset, src, target: targetOf(src), alt: attribute('alt') ?? null },
    width: attribute('width') ?? style.get('width') ?? null,
    height: attribute('height') ?? style.get('height') ?? null,
    hidden: hiderOf(visibility) !== null,
  };
};
