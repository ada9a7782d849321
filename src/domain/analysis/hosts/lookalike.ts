import { domainToUnicode } from 'node:url';
import { CONFUSABLES } from './confusables.ts';

/** Scripts whose letters are mixed within one word only to deceive. Han, Kana, Hangul and Latin are mixed in earnest. */
const SCRIPTS = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Hebrew}/u,
  /\p{Script=Arabic}/u,
  /\p{Script=Georgian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Thai}/u,
];
const ASCII = /^[\0-\x7f]*$/;

export interface Lookalike {
  /** As readers see it. */
  readonly shown: string;
  /** `mixes scripts`. */
  readonly why: string;
}

const skeletonOf = (label: string): string => Array.from(label, (letter) => CONFUSABLES.get(letter) ?? letter).join('');

/** Whether letters stand together in a word that only somebody who deceives puts together. */
export const mixesScripts = (word: string): boolean => SCRIPTS.filter((script) => script.test(word)).length > 1;

const whyOf = (label: string, topIsAscii: boolean): string | null => {
  if (ASCII.test(label)) return null;
  if (mixesScripts(label)) return 'mixes scripts in one word';
  const skeleton = skeletonOf(label);
  return topIsAscii && ASCII.test(skeleton) ? `looks like ${skeleton}` : null;
};

/**
 * Whether a host name deceives the eye: letters of several scripts in one label, or a label under an ASCII ending that
 * looks like ASCII letter by letter.
 * @param host in A-labels.
 */
export const lookalikeOf = (host: string): Lookalike | null => {
  if (!host.includes('xn--')) return null;
  const shown = domainToUnicode(host);
  const labels = shown.split('.');
  const topIsAscii = ASCII.test(labels.at(-1) ?? '');
  for (const label of labels) {
    const why = whyOf(label, topIsAscii);
    if (why !== null) return { shown, why };
  }
  return null;
};
