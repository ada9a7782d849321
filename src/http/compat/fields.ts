import { isSent } from '../resources/messages/send-body.ts';
import type { Problem } from '../validation/problems.ts';

/**
 * Rules by which fields of another service's API become those of a send of ours. A field that cannot be honoured is a
 * problem. A field is ignored only if it has no effect.
 */

export type Fields = Readonly<Record<string, unknown>>;

/** Our fields for a field of theirs, and the problems with it. */
export interface TranslatedFields {
  readonly fields?: Fields;
  readonly problems?: readonly Problem[];
}

/** @param path of the field, in the vendor's names: `Attachments[0].Name`. */
export type FieldRule = (value: unknown, path: string) => TranslatedFields;

/** By the vendor's name. */
export type FieldRules = Readonly<Record<string, FieldRule>>;

/** Details list a problem under the first name of its path. */
const problemAt = (path: string, words: string): Problem => [
  path.split(/[.[]/, 1).join('') || path,
  `${path} ${words}`,
];

/** The same value under our name. */
export const as =
  (name: string): FieldRule =>
  (value) => ({ fields: { [name]: value } });

/** @param remedy follows the path: `is not offered: …`. */
export const refused =
  (remedy: string): FieldRule =>
  (_, path) => ({ problems: [problemAt(path, remedy)] });

/** Ignores a field that has no effect here or requests the default behaviour. */
export const ignored: FieldRule = () => ({});

/** Refuses a field unless its value has no effect. */
export const refusedUnless =
  (asksNothing: (value: unknown) => boolean, remedy: string): FieldRule =>
  (value, path) =>
    asksNothing(value) ? {} : refused(remedy)(value, path);

/** Merges two parts of one object or list. Other values are kept, and the validation reports them. */
const merged = (before: unknown, more: unknown): unknown => {
  if (Array.isArray(before) && Array.isArray(more)) return [...before, ...more];
  return isSent(before) && isSent(more) ? { ...before, ...more } : more;
};

const UNKNOWN = refused('is not a known field');

const ruleOf = (rules: FieldRules, name: string): FieldRule =>
  (Object.hasOwn(rules, name) ? rules[name] : undefined) ?? UNKNOWN;

/**
 * Translates each field by its rule. Clients send `null` for an unset field.
 * @param at path of the containing object, with a trailing dot; empty: the body.
 */
export const takeFields = (sent: Fields, rules: FieldRules, at = ''): Required<TranslatedFields> => {
  const given = Object.entries(sent).filter(([, value]) => value !== null && value !== undefined);
  const taken = given.map(([name, value]) => ruleOf(rules, name)(value, `${at}${name}`));
  const fields: Record<string, unknown> = {};
  for (const [ours, one] of taken.flatMap((each) => Object.entries(each.fields ?? {})))
    fields[ours] = merged(fields[ours], one);
  return { fields, problems: taken.flatMap(({ problems = [] }) => problems) };
};

/** Larger lists are refused as they are: none of their items is looked at. */
const ITEMS_MAX = 100;

/** A list of objects, each translated by rules. Other values are kept, and the validation reports them. */
export const listOf =
  (ours: string, rules: FieldRules, complete: (item: Fields) => Fields = (item) => item): FieldRule =>
  (value, path) => {
    if (!Array.isArray(value) || value.length > ITEMS_MAX) return { fields: { [ours]: value } };
    const items = value.map((item: unknown, index) =>
      isSent(item) ? takeFields(item, rules, `${path}[${index}].`) : { fields: item, problems: [] },
    );
    return {
      fields: { [ours]: items.map(({ fields }) => (isSent(fields) ? complete(fields) : fields)) },
      problems: items.flatMap(({ problems }) => problems),
    };
  };

/** A file that is shown as a file needs no `Content-ID`: nothing refers to it. */
export const withDisposition = ({ disposition, ...attachment }: Fields): Fields => {
  const { content_id: _, ...shown } = attachment;
  return disposition === 'attachment' ? shown : attachment;
};

/** How a file is shown. */
export const takeDisposition: FieldRule = (value, path) =>
  value === 'attachment' || value === 'inline'
    ? { fields: { disposition: value } }
    : refused('must be attachment or inline')(value, path);

/** Quotes the name, so that special characters in it are not parsed as syntax. */
export const mailboxText = (address: string, name: string | undefined): string =>
  name === undefined || name === '' ? address : `"${name.replaceAll(/["\\]/g, '\\$&')}" <${address}>`;
