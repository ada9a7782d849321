import type { Variable } from './variables.ts';

export const TEMPLATE_FORMATS = ['html', 'mjml'] as const;
export type TemplateFormat = (typeof TEMPLATE_FORMATS)[number];

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
  readonly format: TemplateFormat;
  /** Styles are written into the elements that they concern when it is published. */
  readonly inlineCss: boolean;
  readonly from?: string;
  readonly replyTo?: readonly string[];
  /** Alias of the template that is its layout. */
  readonly layout?: string;
  readonly variables: readonly Variable[];
  /** By BCP 47 tag: `de`, `de-AT`. */
  readonly locales: Readonly<Record<string, LocalizedContent>>;
  /** Of a version: what was made of its draft when it was published, so that a rollback restores exactly what was sent. */
  readonly compiled?: CompiledContent;
}

export interface CompiledContent {
  /** The innermost first. */
  readonly layouts: readonly Layout[];
  /** Variables of the layouts that the template does not declare itself. */
  readonly layoutVariables: readonly Variable[];
  /** Made of MJML, or with styles written into elements; absent: the html is sent as it was written. */
  readonly html?: LocalizedHtml;
}

export interface LocalizedHtml {
  readonly html: string;
  readonly locales: Readonly<Record<string, string>>;
}

/** The html that is rendered: as it was compiled, or as it was written. */
export const htmlOf = ({ html, locales, compiled }: TemplateContent): LocalizedHtml =>
  compiled?.html ?? {
    html,
    locales: Object.fromEntries(Object.entries(locales).map(([tag, one]) => [tag, one.html])),
  };

/** Without what was made of it. */
export const sourceOf = ({ compiled: _, ...source }: TemplateContent): TemplateContent => source;

/** The html in its layouts without the styles that were written into it; null: it is that, or was written in MJML. */
export const withoutInlining = (content: TemplateContent): TemplateContent | null => {
  const { format, compiled } = content;
  if (format !== 'html' || compiled?.html === undefined) return null;
  const { html: _, ...layouts } = compiled;
  return { ...content, compiled: layouts };
};

/** All variables that a send may give. */
export const variablesOf = ({ variables, compiled }: TemplateContent): readonly Variable[] => [
  ...variables,
  ...(compiled?.layoutVariables ?? []),
];

/** What a layout calls the html that it surrounds. */
export const CONTENT_VARIABLE = 'content';

/** `de-AT`, `de`: the tags that are looked for, the best first. */
export const fallbackTags = (locale: string): readonly string[] => {
  const parts = locale.split('-');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
};

/** The tag of the best of the values for a locale; null: it is the default. */
export const bestTag = (locales: Readonly<Record<string, unknown>>, locale: string | null): string | null =>
  fallbackTags(locale ?? '').find((each) => Object.hasOwn(locales, each)) ?? null;

/** The best of the values for a locale. */
export const localized = <Value>(locales: Readonly<Record<string, Value>>, locale: string | null): Value | null => {
  const tag = bestTag(locales, locale);
  return tag === null ? null : (locales[tag] ?? null);
};
