import { de } from './locales/de.ts';
import { en } from './locales/en.ts';
import { es } from './locales/es.ts';
import { fr } from './locales/fr.ts';
import { ja } from './locales/ja.ts';
import type { Sentences } from './locales/sentences.ts';

export interface Locale {
  /** Of `lang` and `Content-Language` (RFC 5646). */
  readonly tag: string;
  readonly say: Sentences;
}

const ENGLISH: Locale = { tag: 'en', say: en };

export const LOCALES: readonly Locale[] = [
  ENGLISH,
  { tag: 'de', say: de },
  { tag: 'fr', say: fr },
  { tag: 'es', say: es },
  { tag: 'ja', say: ja },
];

/** Browsers send some fifty characters; more is not read. */
const HEADER_CHARACTERS_MAX = 500;

/** The primary language of a range, and how much it is wanted (RFC 9110 §12.5.4). */
const rangeOf = (text: string): { readonly language: string; readonly weight: number } => {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((each) => each.startsWith('q='))?.slice(2) ?? '1';
  return {
    language: range.split('-')[0] ?? '',
    weight: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0,
  };
};

/** The wanted language that there are sentences of; English where there is none. @param header `Accept-Language`. */
export const localeFor = (header: string | undefined): Locale => {
  const wanted = (header ?? '')
    .slice(0, HEADER_CHARACTERS_MAX)
    .split(',')
    .map(rangeOf)
    .filter(({ weight }) => weight > 0)
    .sort((left, right) => right.weight - left.weight);
  for (const { language } of wanted) {
    const found = LOCALES.find(({ tag }) => tag === language);
    if (found !== undefined) return found;
  }
  return ENGLISH;
};

/** A sentence with its blanks filled in, `{sender}` and `{topic}`; what stands in a value is no blank. */
export const fill = (sentence: string, values: Readonly<Record<string, string>>): string =>
  sentence.replace(/\{(\w+)\}/g, (blank, name: string) => values[name] ?? blank);
