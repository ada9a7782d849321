import type { ImageFact } from './facts.ts';

/** `0`, `1`, `1px`. */
const TINY = /^\s*[01](?:px)?\s*$/;

/** An image nobody is meant to see. */
export const isPixel = ({ width, height }: Pick<ImageFact, 'width' | 'height'>): boolean =>
  TINY.test(width ?? '') && TINY.test(height ?? '');
