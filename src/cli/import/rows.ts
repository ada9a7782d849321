import { isAlias } from '../../domain/template/alias.ts';
import { canonicalAddress, parseMailbox } from '../../lib/mime/mime.ts';
import type { ExportRecord } from './export-record.ts';
import { type Converted, liquidOf } from './liquid.ts';

/** What records of exports become, whichever service they are of. */

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

export interface SkippedRow {
  readonly kind: 'skipped';
  readonly reason: string;
}

export type Row = SuppressionRow | TemplateRow | DomainRow | SkippedRow;

/** Lists of SendGrid; its files do not say which they are. */
export const SENDGRID_LISTS = ['bounces', 'spam_reports', 'unsubscribes', 'invalid_emails', 'blocks'] as const;
export type SendgridList = (typeof SENDGRID_LISTS)[number];

export interface ImportOptions {
  /** Of who unsubscribed or was put on the list by hand. */
  readonly scope: SuppressionRow['scope'];
  readonly list: SendgridList | undefined;
}

export const skipped = (reason: string): SkippedRow => ({ kind: 'skipped', reason });

export type Given = ExportRecord['fields'];

export const textIn = (record: Given, name: string): string => {
  const value = record[name];
  return typeof value === 'string' ? value : '';
};

/** Objects of a list; what is none is left out. */
export const objectsIn = (value: unknown): readonly Given[] =>
  Array.isArray(value) ? value.filter((one: unknown): one is Given => typeof one === 'object' && one !== null) : [];

/** Columns of CSV files are named like members of JSON, or nearly so: `Email Address` is `EmailAddress`. */
const plainName = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

export const named = (record: Given, names: readonly string[]): Given =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      names.find((one) => plainName(one) === plainName(name)) ?? name,
      value,
    ]),
  );

/** As much as our list keeps, on one line. */
const NOTE_CHARACTERS_MAX = 1_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

const MS_PER_SECOND = 1_000;

/** ISO 8601, or seconds since 1970; as it was written where it is neither. */
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

interface Suppressed extends Pick<SuppressionRow, 'reason'> {
  readonly address: string;
  readonly note: string;
}

export const suppression = ({ address, reason, note }: Suppressed, { scope }: ImportOptions): Row => {
  const parsed = parseMailbox(address);
  if (typeof parsed === 'string') return skipped(`the address is not an email address: ${parsed}`);
  const isForAll = reason === 'bounce' || reason === 'complaint';
  return { kind: 'suppression', address: parsed.address, reason, scope: isForAll ? 'all' : scope, note };
};

/** By what rows are the same. */
export const keyOf = ({ address, reason, scope }: SuppressionRow): string =>
  `${canonicalAddress(address)}\n${reason}\n${scope}`;

interface Texts {
  readonly name: string;
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

interface TemplateOptions {
  /** Whether three braces write html as it is. */
  readonly raw: boolean;
  /** Fallbacks and types of variables, where the vendor declares them. */
  readonly declared?: ReadonlyMap<string, { readonly type: string; readonly fallback: unknown }>;
}

/** Objects come last: what is an object anywhere is one. */
const byType = ([, one]: readonly [string, string], [, other]: readonly [string, string]): number =>
  other.localeCompare(one);

const variablesOf = (parts: readonly Converted[], { declared }: TemplateOptions): readonly object[] => {
  const found = new Map(parts.flatMap(({ variables }) => [...variables]).toSorted(byType));
  return [...found].map(([name, used]) => {
    const { type = used, fallback } = declared?.get(name) ?? {};
    const standard = fallback === null || fallback === undefined ? {} : { default: fallback };
    return { name, type: type === 'number' ? 'number' : used, required: false, ...standard };
  });
};

/** Html that has no text has one made of it; a text without html is shown as it stands. */
const htmlOf = ({ html, text }: Texts): string =>
  html === '' && text !== '' ? `<pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</pre>` : html;

export const templateRow = (alias: string, texts: Texts, options: TemplateOptions, more: object = {}): Row => {
  if (!isAlias(alias)) return skipped(`its name '${alias.slice(0, 80)}' is no alias: 1 to 64 of a-z, 0-9 and -`);
  const html = htmlOf(texts);
  if (html === '') return skipped('has no html: export each template by itself, a list of them is without');
  const subject = texts.subject === '' ? texts.name : texts.subject;
  const parts = [
    liquidOf(subject, { field: 'subject', raw: false }),
    liquidOf(html, { field: 'html', raw: options.raw }),
    liquidOf(texts.text, { field: 'text', raw: false }),
  ];
  const problem = parts.find((part) => typeof part === 'string');
  if (problem !== undefined) return skipped(problem as string);
  const [ofSubject, ofHtml, ofText] = parts as readonly Converted[];
  return {
    kind: 'template',
    body: {
      alias,
      name: texts.name,
      subject: ofSubject?.source,
      html: ofHtml?.source,
      ...(texts.text === '' ? {} : { text: ofText?.source }),
      variables: variablesOf(parts as readonly Converted[], options),
      ...more,
    },
  };
};

export const textsIn = (
  record: Given,
  [name, subject, html, text]: readonly [string, string, string, string],
): Texts => ({
  name: textIn(record, name),
  subject: textIn(record, subject),
  html: textIn(record, html),
  text: textIn(record, text),
});
