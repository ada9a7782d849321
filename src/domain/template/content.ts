import type { Variable } from './variables.ts';

/** What a template says in one language. All parts are Liquid. */
export interface LocalizedContent {
  readonly subject: string;
  readonly html: string;
  /** Absent: derived from the html. */
  readonly text?: string;
  /** What lists of mail programs show behind the subject. */
  readonly preheader?: string;
}

/** The html that a template's html stands in, where the layout says `{{ content }}`. */
export interface Layout {
  readonly templateId: string;
  readonly version: number;
  readonly html: string;
  readonly locales: Readonly<Record<string, string>>;
}

/** The content of a draft or of a version. */
export interface TemplateContent extends LocalizedContent {
  readonly from?: string;
  readonly replyTo?: readonly string[];
  /** Alias of the template that is its layout. */
  readonly layout?: string;
  readonly variables: readonly Variable[];
  /** By BCP 47 tag: `de`, `de-AT`. */
  readonly locales: Readonly<Record<string, LocalizedContent>>;
  /**
   * Of a version: the layouts as they were when it was published, the innermost first. A version with them is immutable,
   * and a rollback restores exactly what was sent.
   */
  readonly layouts?: readonly Layout[];
}

/** What a layout calls the html that it surrounds. */
export const CONTENT_VARIABLE = 'content';

/** `de-AT`, `de`: the tags that are looked for, the best first. */
export const fallbackTags = (locale: string): readonly string[] => {
  const parts = locale.split('-');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
};

/** The best of the values for a locale. */
export const localized = <Value>(locales: Readonly<Record<string, Value>>, locale: string | null): Value | null => {
  const tag = fallbackTags(locale ?? '').find((each) => Object.hasOwn(locales, each));
  return tag === undefined ? null : (locales[tag] ?? null);
};
