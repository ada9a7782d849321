import type { SentBatch } from '../../commands/message/send-batch.ts';
import type { SentMessage } from '../../commands/message/send-message.ts';
import { type Details, DomainError } from '../../domain/kernel/errors.ts';
import { mapConcurrently } from '../../lib/async/async.ts';
import type { Call, OperationRequest, RouteContext } from '../endpoint.ts';
import { detailsOf, type Problem } from '../problems.ts';
import { type AcceptBatch, acceptBatch, BATCH_MESSAGES_MAX } from '../resources/messages/send-batch.ts';
import { isSent, readSend, type SendRequestBody } from '../resources/messages/send-body.ts';
import { htmlPolicyOf } from '../resources/messages/send-fields.ts';
import { acceptSend, type SendCall } from '../resources/messages/send-message.ts';
import type { GuardedRouteName } from '../route-table.ts';

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

/** A text under our name. */
export const textAs =
  (name: string, read: (value: string) => string = (value) => value): FieldRule =>
  (value, path) =>
    typeof value === 'string' ? { fields: { [name]: read(value) } } : refused('must be text')(value, path);

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

/** Fifty addresses of the greatest length with names. Longer text is for the validation to refuse. */
export const MAILBOXES_CHARACTERS_MAX = 30_000;
/** A quoted string, whether it ends or not, a comma, or what is neither (RFC 5322 §3.4). */
const PARTS = /"(?:[^"\\]|\\.?)*(?:"|$)|,|[^",]+/gsu;

/** Mailboxes in a text, separated by commas outside quotes. */
export const mailboxesIn = (text: string): readonly string[] => {
  const each = [''];
  for (const part of text.match(PARTS) ?? []) {
    if (part === ',') each.push('');
    else each.push((each.pop() ?? '') + part);
  }
  return each.map((one) => one.trim()).filter((one) => one !== '');
};

/**
 * Translates what another service's client sends into the body of a send of ours, which is then validated and accepted as
 * every send is, and translates what is wrong with it back.
 */

/**
 * The vendor's path by ours: `attachments[].content` is `Attachments[].Content`. The longest that fits counts; what has none
 * is left as it is.
 */
export type PathNames = Readonly<Record<string, string>>;

const INDEX = /\[\d+\]/g;

const vendorPath = (path: string, names: PathNames): string => {
  const steps = path.split('.');
  for (let count = steps.length; count > 0; count -= 1) {
    const head = steps.slice(0, count).join('.');
    const key = head.replaceAll(INDEX, '[]');
    const name = Object.hasOwn(names, key) ? names[key] : undefined;
    if (name === undefined) continue;
    const indexes = head.match(INDEX) ?? [];
    const [first = '', ...others] = name.split('[]');
    const told = first + others.map((part, index) => `${indexes[index] ?? ''}${part}`).join('');
    return [told, ...steps.slice(count)].join('.');
  }
  return path;
};

/** `to[1] is not …`; a sentence that begins with no path is left as it is. */
const vendorProblem = ([field, sentence]: Problem, nameOf: (path: string) => string): Problem => {
  if (!sentence.startsWith(field)) return [nameOf(field), sentence];
  const [path = ''] = /^[^\s:]+/.exec(sentence) ?? [];
  return [nameOf(field), nameOf(path) + sentence.slice(path.length)];
};

const entriesOf = (details: Details): readonly Problem[] =>
  Object.entries(details).flatMap(([field, sentences]) => sentences.map((one): Problem => [field, one]));

/** The error in the vendor's names, as far as it is about fields. */
const inNames = (error: unknown, nameOf: (path: string) => string): unknown => {
  if (!(error instanceof DomainError) || error.details === undefined) return error;
  const { code, message, details, retryAfterSeconds } = error;
  const all = entriesOf(details).map((one) => vendorProblem(one, nameOf));
  // Messages of one request can share a field.
  const problems = [...new Map(all.map((problem) => [problem[1], problem])).values()];
  const later = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  return new DomainError(code, message, { details: detailsOf(problems), ...later });
};

/**
 * Performs one of our own operations for a vendor's call.
 * @returns its response (`Answer` is the schema of the operation), masked for its caller.
 * @throws {DomainError} in the vendor's names.
 */
export const perform = async <Answer>(
  { performers }: RouteContext,
  call: Call<unknown, unknown>,
  name: GuardedRouteName,
  { names = {}, ...asked }: OperationRequest & { readonly names?: PathNames } = {},
): Promise<Answer> => {
  const operation = performers.get(name);
  if (operation === undefined) throw new Error(`${name} is not registered`);
  try {
    return (await operation(call, asked)) as Answer;
  } catch (error) {
    throw inNames(error, (path) => vendorPath(path, names));
  }
};

/** A list of ours. */
export interface List<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

const invalid = (problems: readonly Problem[]): DomainError =>
  new DomainError('invalid_request', 'the request is invalid: see details', { details: detailsOf(problems) });

/** @throws {DomainError} `invalid_request` with what was found so far. */
export const requireNone = (problems: readonly Problem[]): void => {
  if (problems.length > 0) throw invalid(problems);
};

/** Refusal of one field. @param problem follows its path: `is required`. */
export const refuseField = (path: string, problem: string): DomainError => invalid([problemAt(path, problem)]);

const DAY_MS = 86_400_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

const dateOf = (at: number): string => new Date(at).toISOString().replace(/T.*$/, '');

/** End of a period of theirs: they include its last day, and ours end before theirs. Other text is left as it is. */
export const throughDay = (until: string | undefined): string | undefined => {
  const at = until !== undefined && DATE.test(until) ? Date.parse(until) : Number.NaN;
  // JavaScript reads 31 February as a day in March.
  return Number.isNaN(at) || dateOf(at) !== until ? until : dateOf(at + DAY_MS);
};

/** Sentences of an error about single fields, or its message. */
export const sentenceOf = ({ message, details = {} }: DomainError): string =>
  Object.values(details).flat().join('; ') || message;

/** @throws {DomainError} `invalid_request` if the body is not an object. */
export const requireObject = (body: unknown): Fields => {
  if (isSent(body)) return body;
  throw invalid([['body', 'body must be an object']]);
};

/** Fields of an object, translated by rules. @param at as in `takeFields`. @throws {DomainError} `invalid_request`. */
export const requireFields = (sent: unknown, rules: FieldRules, at = ''): Fields => {
  const { fields, problems } = takeFields(requireObject(sent), rules, at);
  requireNone(problems);
  return fields;
};

/** A message of a vendor, translated. */
export type Translate = (sent: Fields) => Required<TranslatedFields>;

interface VendorTranslation {
  readonly translate: Translate;
  readonly names: PathNames;
}

/** Validates a translated message. Problems of translation and validation are reported together. */
const readTranslated = async (
  route: RouteContext,
  caller: Call<unknown, unknown>['caller'],
  { fields, problems }: Required<TranslatedFields>,
  nameOf: (path: string) => string,
): Promise<SendRequestBody> => {
  try {
    const body = await readSend(htmlPolicyOf(route, 'compat', caller), fields, caller);
    requireNone(problems);
    return body;
  } catch (error) {
    const told = inNames(error, nameOf);
    if (problems.length === 0 || !(told instanceof DomainError)) throw told;
    throw invalid([...problems, ...entriesOf(told.details ?? {})]);
  }
};

/** Templates of other services know no types of values. */
const withTextualValues = (route: RouteContext): RouteContext => ({
  ...route,
  templates: { ...route.templates, of: (organizationId) => route.templates.of(organizationId, 'textual') },
});

/** Accepts the message that a body is. @throws {DomainError} in the vendor's names. */
export const sendOne = async (
  route: RouteContext,
  call: SendCall & Pick<Call<unknown, unknown>, 'body'>,
  { translate, names }: VendorTranslation,
): Promise<SentMessage> => {
  const nameOf = (path: string): string => vendorPath(path, names);
  const body = await readTranslated(route, call.caller, translate(requireObject(call.body)), nameOf);
  return acceptSend(withTextualValues(route), call, body, 'compat').catch((error: unknown) => {
    throw inNames(error, nameOf);
  });
};

/** @throws {DomainError} `invalid_request` if it is not a list, or has too few or too many items. */
export const requireList = (items: unknown, field: string, max: number): readonly unknown[] => {
  if (!Array.isArray(items)) throw refuseField(field, 'must be an array');
  if (items.length === 0) throw refuseField(field, 'must not be empty');
  if (items.length <= max) return items;
  throw refuseField(field, `must have at most ${max} items: split the request`);
};

/** @throws {DomainError} `invalid_request`. */
export const requireMessages = (messages: unknown, field: string): readonly unknown[] =>
  requireList(messages, field, BATCH_MESSAGES_MAX);

const MESSAGE = /^messages\[(\d+)\]\.?/;

interface Batch extends Pick<AcceptBatch, 'strict'> {
  /** The messages as received. */
  readonly messages: readonly unknown[];
  readonly translate: (sent: Fields, index: number) => Required<TranslatedFields>;
  readonly names: PathNames;
  /**
   * Path of a message, with its dot if a path follows: `[3].`, which `to` follows.
   * @param field path in the message, in the vendor's names.
   */
  readonly placeOf: (index: number, field: string) => string;
}

const translated = ({ translate }: Batch, sent: unknown, index: number): unknown => {
  if (!isSent(sent)) return sent;
  const { fields, problems } = translate(sent, index);
  return problems.length === 0 ? fields : invalid(problems);
};

/**
 * Accepts the messages of a body.
 * @returns refusals of single messages are in the vendor's names.
 * @throws {DomainError} in the vendor's names.
 */
export const sendMany = async (route: RouteContext, call: SendCall, batch: Batch): Promise<SentBatch> => {
  const { messages, strict, names, placeOf } = batch;
  const nameOf = (path: string): string => {
    const [prefix, index] = MESSAGE.exec(path) ?? [];
    if (prefix === undefined) return vendorPath(path, names);
    const rest = vendorPath(path.slice(prefix.length), names);
    const place = placeOf(Number(index), rest);
    return rest === '' ? place.replace(/\.$/, '') : `${place}${rest}`;
  };
  const { system } = route.deps.context;
  const items = await mapConcurrently(messages, { system, concurrency: 1 }, (sent, index) =>
    translated(batch, sent, index),
  );
  const body = { messages, mode: strict ? 'strict' : 'partial' };
  try {
    const sent = await acceptBatch(withTextualValues(route), call, { messages: items, strict, entry: 'compat', body });
    return sent.map((one) => (one instanceof DomainError ? (inNames(one, nameOf) as DomainError) : one));
  } catch (error) {
    throw inNames(error, nameOf);
  }
};
