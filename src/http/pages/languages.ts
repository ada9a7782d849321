import { acceptedIn } from '../accept.ts';
import { de } from './locales/de.ts';
import { en, type Sentences } from './locales/en.ts';
import { es } from './locales/es.ts';
import { fr } from './locales/fr.ts';
import { ja } from './locales/ja.ts';

export interface Locale {
  /** Language tag for `lang` and `Content-Language` (RFC 5646). */
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

/** The first accepted language that is available, otherwise English. @param header `Accept-Language`. */
export const localeFor = (header: string | undefined): Locale => {
  for (const range of acceptedIn(header)) {
    const found = LOCALES.find(({ tag }) => tag === range.split('-')[0]);
    if (found !== undefined) return found;
  }
  return ENGLISH;
};

/** Fills in the placeholders of a sentence, `{sender}` and `{topic}`. Placeholders inside values are not replaced. */
export const fill = (sentence: string, values: Readonly<Record<string, string>>): string =>
  sentence.replace(/\{(\w+)\}/g, (blank, name: string) => values[name] ?? blank);
