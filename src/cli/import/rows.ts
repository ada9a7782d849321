import { isAlias } from '../../domain/template/template.ts';
import { htmlOrText, type LiquidTemplate, liquidOf, type TemplateSources } from '../../http/compat/placeholders.ts';
import { canonicalAddress, parseMailbox } from '../../lib/mime/mime.ts';
import type { ExportRecord } from './read-records.ts';

/** Rows to import, in a form that is independent of the exporting service. */

export interface SuppressionRow {
  readonly kind: 'suppression';
  readonly address: string;
  readonly reason: 'bounce' | 'complaint' | 'unsubscribe' | 'manual' | 'import';
  readonly scope: 'all' | 'transactional' | 'bulk';
  readonly note: string;
}

export interface TemplateRow {
  readonly kind: 'template';
  /** Body of `POST /v1/templates`. */
  readonly body: { readonly alias: string } & Readonly<Record<string, unknown>>;
}

export interface DomainRow {
  readonly kind: 'domain';
  readonly name: string;
}

interface SkippedRow {
  readonly kind: 'skipped';
  readonly reason: string;
}

export type Row = SuppressionRow | TemplateRow | DomainRow | SkippedRow;

/** Lists of SendGrid and Mailgun. The option is needed because their files do not name the list. */
export const LISTS = ['bounces', 'spam_reports', 'complaints', 'unsubscribes', 'invalid_emails', 'blocks'] as const;
export type SuppressionList = (typeof LISTS)[number];

export interface ImportOptions {
  /** Scope for unsubscribed and manually added addresses. */
  readonly scope: SuppressionRow['scope'];
  readonly list: SuppressionList | undefined;
}

export const skipped = (reason: string): SkippedRow => ({ kind: 'skipped', reason });

export type RecordFields = ExportRecord['fields'];

export const textIn = (record: RecordFields, name: string): string => {
  const value = record[name];
  return typeof value === 'string' ? value : '';
};

/** The objects of a list; other values are dropped. */
export const objectsIn = (value: unknown): readonly RecordFields[] =>
  Array.isArray(value)
    ? value.filter((one: unknown): one is RecordFields => typeof one === 'object' && one !== null)
    : [];

/** Normalizes column names: CSV files use nearly the same names as JSON, such as `Email Address` for `EmailAddress`. */
const plainName = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

export const named = (record: RecordFields, names: readonly string[]): RecordFields =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      names.find((one) => plainName(one) === plainName(name)) ?? name,
      value,
    ]),
  );

/** Maximum length of a note in the suppression list, as one line. */
const NOTE_CHARACTERS_MAX = 1_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

const MS_PER_SECOND = 1_000;

/** Converts an ISO 8601 time or Unix seconds; any other text stays unchanged. */
const timeText = (value: unknown): string => {
  const seconds = typeof value === 'number' || /^\d{9,11}$/.test(String(value)) ? Number(value) : Number.NaN;
  const ms = Number.isNaN(seconds) ? Date.parse(String(value)) : seconds * MS_PER_SECOND;
  return Number.isNaN(ms) || Math.abs(ms) > 8.64e15 ? '' : new Date(ms).toISOString();
};

export const noteOf = (from: string, since: unknown, evidence: string): string => {
  const time = since === undefined ? '' : timeText(since);
  const words = `${from}${time === '' ? '' : ` since ${time}`}${evidence === '' ? '' : `: ${evidence}`}`;
  return words.replaceAll(CONTROL, ' ').slice(0, NOTE_CHARACTERS_MAX).toWellFormed();
};

interface SuppressionFields extends Pick<SuppressionRow, 'reason'> {
  readonly address: string;
  readonly note: string;
}

export const suppression = ({ address, reason, note }: SuppressionFields, { scope }: ImportOptions): Row => {
  const parsed = parseMailbox(address);
  if (typeof parsed === 'string') return skipped(`not a valid email address: ${parsed}`);
  const isForAll = reason === 'bounce' || reason === 'complaint';
  return { kind: 'suppression', address: parsed.address, reason, scope: isForAll ? 'all' : scope, note };
};

/** Rows with the same key are duplicates. */
export const keyOf = ({ address, reason, scope }: SuppressionRow): string =>
  `${canonicalAddress(address)}\n${reason}\n${scope}`;

interface Texts extends TemplateSources {
  readonly name: string;
}

interface TemplateOptions {
  /** True if triple braces output HTML unescaped. */
  readonly raw: boolean;
  /** Fallbacks and types of variables, if the vendor declares them. */
  readonly declared?: ReadonlyMap<string, { readonly type: string; readonly fallback: unknown }>;
}

const variablesOf = ({ variables }: LiquidTemplate, { declared }: TemplateOptions): readonly object[] =>
  [...variables].map(([name, used]) => {
    const { type = used, fallback } = declared?.get(name) ?? {};
    const standard = fallback === null || fallback === undefined ? {} : { default: fallback };
    return { name, type: type === 'number' ? 'number' : used, required: false, ...standard };
  });

export const templateRow = (alias: string, texts: Texts, options: TemplateOptions, more: object = {}): Row => {
  if (!isAlias(alias))
    return skipped(`the name '${alias.slice(0, 80)}' is not a valid alias: use 1 to 64 of a-z, 0-9 and -`);
  const html = htmlOrText(texts);
  if (html === '')
    return skipped('has no html, because lists of templates leave it out: export templates one at a time');
  const subject = texts.subject === '' ? texts.name : texts.subject;
  const converted = liquidOf({ subject, html, text: texts.text }, options);
  const [problem] = converted.problems;
  if (problem !== undefined) return skipped(problem[1]);
  const { text, ...sources } = converted.sources;
  return {
    kind: 'template',
    body: {
      alias,
      name: texts.name,
      ...sources,
      ...(text === '' ? {} : { text }),
      variables: variablesOf(converted, options),
      ...more,
    },
  };
};

export const textsIn = (
  record: RecordFields,
  [name, subject, html, text]: readonly [string, string, string, string],
): Texts => ({
  name: textIn(record, name),
  subject: textIn(record, subject),
  html: textIn(record, html),
  text: textIn(record, text),
});
