import type { Variable } from './variables.ts';

export const TEMPLATE_FORMATS = ['html', 'mjml'] as const;
export type TemplateFormat = (typeof TEMPLATE_FORMATS)[number];

/** Content of a template in one language. All parts are Liquid. */
export interface LocalizedContent {
  readonly subject: string;
  readonly html: string;
  /** Absent: derived from the HTML. */
  readonly text?: string;
  /** Text that mail programs show after the subject in message lists. */
  readonly preheader?: string;
}

/** HTML that surrounds a template's HTML. `{{ content }}` marks the place. */
export interface Layout {
  readonly templateId: string;
  readonly version: number;
  readonly html: string;
  readonly locales: Readonly<Record<string, string>>;
}

/** Content of a draft or version. */
export interface TemplateContent extends LocalizedContent {
  readonly format: TemplateFormat;
  /** Whether styles are inlined into elements on publication. */
  readonly inlineCss: boolean;
  readonly from?: string;
  readonly replyTo?: readonly string[];
  /** Alias of the template that is its layout. */
  readonly layout?: string;
  readonly variables: readonly Variable[];
  /** Translations by BCP 47 tag, such as `de` or `de-AT`. */
  readonly locales: Readonly<Record<string, LocalizedContent>>;
  /**
   * For a version: the output of compiling its draft on publication, so that a rollback restores exactly what was sent.
   */
  readonly compiled?: CompiledContent;
}

export interface CompiledContent {
  /** Innermost first. */
  readonly layouts: readonly Layout[];
  /** Variables of the layouts that the template does not declare itself. */
  readonly layoutVariables: readonly Variable[];
  /** Output of MJML compilation or style inlining. Absent: the HTML is sent as written. */
  readonly html?: LocalizedHtml;
}

export interface LocalizedHtml {
  readonly html: string;
  readonly locales: Readonly<Record<string, string>>;
}

/** The HTML to render: compiled if it was compiled, otherwise as written. */
export const htmlOf = ({ html, locales, compiled }: TemplateContent): LocalizedHtml =>
  compiled?.html ?? {
    html,
    locales: Object.fromEntries(Object.entries(locales).map(([tag, one]) => [tag, one.html])),
  };

/** The content without compiled parts. */
export const sourceOf = ({ compiled: _, ...source }: TemplateContent): TemplateContent => source;

/** The content in its layouts without inlined styles; null if none were inlined or it was written in MJML. */
export const withoutInlining = (content: TemplateContent): TemplateContent | null => {
  const { format, compiled } = content;
  if (format !== 'html' || compiled?.html === undefined) return null;
  const { html: _, ...layouts } = compiled;
  return { ...content, compiled: layouts };
};

/** All variables that a send may provide. */
export const variablesOf = ({ variables, compiled }: TemplateContent): readonly Variable[] => [
  ...variables,
  ...(compiled?.layoutVariables ?? []),
];

/** Name in a layout of the HTML that it surrounds. */
export const CONTENT_VARIABLE = 'content';

/** Tags to look up, best first, such as `de-AT` and `de`. */
export const fallbackTags = (locale: string): readonly string[] => {
  const parts = locale.split('-');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
};

/** Tag of the best translation for a locale; null for the default. */
export const bestTag = (locales: Readonly<Record<string, unknown>>, locale: string | null): string | null =>
  fallbackTags(locale ?? '').find((each) => Object.hasOwn(locales, each)) ?? null;

/** The best translation for a locale. */
export const localized = <Value>(locales: Readonly<Record<string, Value>>, locale: string | null): Value | null => {
  const tag = bestTag(locales, locale);
  return tag === null ? null : (locales[tag] ?? null);
};
