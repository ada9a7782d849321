import { z } from 'zod';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { SuppressionReason } from '../../domain/suppression/events.ts';
import { parseMailbox } from '../../lib/mime/mime.ts';
import { bodyOf } from '../bodies.ts';
import { writeCsv } from '../csv.ts';
import { type Call, endpoint, type RouteContext } from '../endpoint.ts';
import { integerParameter, text } from '../fields.ts';
import { isSent } from '../resources/messages/send-body.ts';
import type { SerializedSuppression } from '../resources/suppressions/add-suppressions.ts';
import { domainIn, NO_BODY } from './mailgun.ts';
import { entryIn, findSuppressed, unsuppress } from './suppressions.ts';
import {
  as,
  type FieldRule,
  type FieldRules,
  ignored,
  type List,
  type PathNames,
  perform,
  refused,
  refusedUnless,
  refuseField,
  requireFields,
  requireList,
} from './translate.ts';
import { unsupportedCall } from './vendors.ts';

/** Suppressions of the npm package `mailgun.js`, by our own operations. A list applies to all domains of the organization. */

type Entry = SerializedSuppression['entries'][number];

const plainOf = (address: string, { added_at }: Entry) => ({ address, created_at: new Date(added_at).toUTCString() });
const bounceOf = (address: string, entry: Entry) => ({
  ...plainOf(address, entry),
  code: /\b[245]\d\d\b/.exec(entry.evidence ?? '')?.[0] ?? '550',
  error: entry.evidence ?? '',
});
const unsubscribeOf = (address: string, entry: Entry) => ({ ...plainOf(address, entry), tags: ['*'] });

interface SuppressionList {
  readonly name: string;
  /** The first is what an address is added for. */
  readonly reasons: readonly [SuppressionReason, ...SuppressionReason[]];
  readonly removed: string;
  readonly serialize: (address: string, entry: Entry) => object;
}

const LISTS: Readonly<Record<string, SuppressionList>> = {
  bounces: { name: 'bounces', reasons: ['bounce'], removed: 'Bounced address has been removed', serialize: bounceOf },
  complaints: {
    name: 'complaints',
    reasons: ['complaint'],
    removed: 'Spam complaint has been removed',
    serialize: plainOf,
  },
  unsubscribes: {
    name: 'unsubscribes',
    reasons: ['unsubscribe', 'manual', 'import'],
    removed: 'Unsubscribe event has been removed',
    serialize: unsubscribeOf,
  },
};

/** The list of a domain that a path names. @throws {DomainError} `not_found`. */
const listIn = async (call: Call<unknown, unknown>, route: RouteContext): Promise<SuppressionList> => {
  const { method, url, params } = call.request;
  const { list } = params as { readonly list: string };
  const found = Object.hasOwn(LISTS, list) ? LISTS[list] : undefined;
  if (found === undefined) {
    const [path = ''] = url.split('?');
    throw new DomainError('not_found', unsupportedCall('mailgun', method, path));
  }
  await domainIn(call, route);
  return found;
};

const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 100;
/** Our own lists have no longer pages. */
const PAGE_MAX = 100;
const PLACE_CHARACTERS_MAX = 500;
/** The place behind the last item. */
const END = '-';

/** Place in a list: our list is read once for each reason. */
interface Place {
  readonly reason: number;
  readonly after: string | null;
}

const placeText = (place: Place | null): string => (place === null ? END : `${place.reason}.${place.after ?? ''}`);

const PLACE = /^([0-2])\.(.*)$/;

/** @param text undefined: the first item. @returns null: behind the last. @throws {DomainError} `invalid_request`. */
const placeOf = (text: string | undefined): Place | null => {
  if (text === undefined) return { reason: 0, after: null };
  if (text === END) return null;
  const [, reason, after = ''] = PLACE.exec(text) ?? [];
  if (reason === undefined) throw refuseField('address', 'must be that of paging.next');
  return { reason: Number(reason), after: after === '' ? null : after };
};

/** Items from a place on. An address that is suppressed for two reasons is listed once. */
const itemsFrom = async (
  route: RouteContext,
  call: Call<unknown, unknown>,
  { reasons, serialize }: SuppressionList,
  { reason: index, after, limit }: Place & { readonly limit: string },
): Promise<{ readonly items: readonly object[]; readonly next: Place | null }> => {
  const reason = reasons[index];
  if (reason === undefined) return { items: [], next: null };
  const { data, next_cursor } = await perform<List<SerializedSuppression>>(route, call, 'GET /v1/suppressions', {
    query: { limit, reason, ...(after === null ? {} : { after }) },
    names: { after: 'address' },
  });
  const items = data.flatMap((one) => {
    const entry = entryIn(one, { reasons: [reason] });
    const isListed = entryIn(one, { reasons: reasons.slice(0, index) }) !== undefined;
    return entry === undefined || one.address === null || isListed ? [] : [serialize(one.address, entry)];
  });
  if (next_cursor !== null) return { items, next: { reason: index, after: next_cursor } };
  return { items, next: index + 1 < reasons.length ? { reason: index + 1, after: null } : null };
};

/** Pages are read forward, so there is no address of the previous or the last one. */
const pageUrls = (
  { auth }: RouteContext,
  { request, query }: Call<unknown, { readonly limit: number }>,
  next: Place | null,
) => {
  const [path = ''] = request.url.split('?');
  const url = (page: string): string => `${auth.publicUrl}${path}?page=${page}&limit=${query.limit}`;
  return { first: url('first'), next: `${url('next')}&address=${encodeURIComponent(placeText(next))}` };
};

/** Its client adds its own limit to the address of the next page, which has one. */
const lastOf = (value: unknown): unknown => (Array.isArray(value) ? value.at(-1) : value);

const listMailgunSuppressionsRoute = endpoint(
  'GET /compat/mailgun/v3/:domain/:list',
  {
    summary: 'suppressions.list',
    query: z.strictObject({
      limit: z.preprocess(lastOf, integerParameter(1, LIMIT_MAX).default(LIMIT_DEFAULT)),
      page: z.enum(['first', 'next'], 'must be first or next: read the pages from the first on').default('first'),
      address: z.string().max(PLACE_CHARACTERS_MAX).optional(),
    }),
  },
  async (call, route) => {
    const list = await listIn(call, route);
    const { page, address, limit } = call.query;
    const shown = String(Math.min(limit, PAGE_MAX));
    let items: readonly object[] = [];
    let next = page === 'first' ? placeOf(undefined) : placeOf(address);
    // Clients stop at an empty page: it must be the last.
    while (items.length === 0 && next !== null)
      ({ items, next } = await itemsFrom(route, call, list, { ...next, limit: shown }));
    return { items, paging: pageUrls(route, call, next) };
  },
);

const NAMES: PathNames = { address: 'address' };

/** @throws {DomainError} `not_found`. */
const entryOn = async (call: Call<unknown, unknown>, route: RouteContext, list: SuppressionList) => {
  const found = await findSuppressed(route, call, call.id, NAMES);
  const entry = found === null ? undefined : entryIn(found, list);
  if (entry === undefined) throw new DomainError('not_found', `Address not found in ${list.name} table`);
  return { address: found?.address ?? call.id, entry };
};

const getMailgunSuppressionRoute = endpoint(
  'GET /compat/mailgun/v3/:domain/:list/:id',
  { summary: 'suppressions.get' },
  async (call, route) => {
    const list = await listIn(call, route);
    const { address, entry } = await entryOn(call, route, list);
    return list.serialize(address, entry);
  },
);

const deleteMailgunSuppressionRoute = endpoint(
  'DELETE /compat/mailgun/v3/:domain/:list/:id',
  { summary: 'suppressions.destroy', bounds: NO_BODY },
  async (call, route) => {
    const list = await listIn(call, route);
    const { address } = await entryOn(call, route, list);
    await unsuppress(route, call, { address, reasons: list.reasons, names: NAMES });
    return { message: list.removed, address };
  },
);

/** Each costs a read and an append. Mailgun accepts as many. */
const ADDRESSES_MAX = 1_000;
const ADDRESSES_BYTES_MAX = 1_000_000;
const ADDRESSES_VALUES_MAX = 10_000;

/** A note of ours may be twice as long. */
const ERROR_CHARACTERS_MAX = 1_000;

const NO_TAGS = "is not supported: use a topic with POST /v1/topics, or '*'";
const isEverything = (value: unknown): boolean => [value].flat().every((one) => one === '*' || one === '');

const ERROR = text(ERROR_CHARACTERS_MAX);

/** Replies of several lines are texts too. */
const takeError: FieldRule = (value, path) =>
  ERROR.safeParse(value).success
    ? { fields: { error: value } }
    : refused(`must be a text of at most ${ERROR_CHARACTERS_MAX} characters, without NUL`)(value, path);

/** A reply code, as text in a form: `550`, or with an enhanced code. */
const CODE = /^[\x20-\x7e]{0,20}$/;

const takeCode: FieldRule = (value, path) =>
  (typeof value === 'string' || typeof value === 'number') && CODE.test(String(value))
    ? { fields: { code: String(value) } }
    : refused('must be a reply code such as 550')(value, path);

const SUPPRESSION: FieldRules = {
  address: as('address'),
  error: takeError,
  code: takeCode,
  created_at: ignored, // it is now
  tag: refusedUnless(isEverything, NO_TAGS),
  tags: refusedUnless(isEverything, NO_TAGS),
};

/** An item of a list to be added, and how its field is named. @throws {DomainError} `invalid_request`. */
const rowOf = (sent: unknown, at: string, reason: SuppressionReason): readonly string[] => {
  const { address, error = '', code = '' } = requireFields(sent, SUPPRESSION, at);
  if (typeof address !== 'string') throw refuseField(`${at}address`, 'is required, as text');
  if (typeof parseMailbox(address) === 'string') throw refuseField(`${at}address`, 'is not an email address');
  return [address, reason, [code, error].filter((part) => part !== '').join(' ')];
};

interface Imported {
  readonly problems: readonly { readonly message: string }[];
}

const addMailgunSuppressionsRoute = endpoint(
  'POST /compat/mailgun/v3/:domain/:list',
  {
    summary: 'suppressions.create',
    body: z.unknown(),
    bounds: { ...bodyOf(ADDRESSES_BYTES_MAX), valuesMax: ADDRESSES_VALUES_MAX, takesForms: true },
  },
  async (call, route) => {
    const list = await listIn(call, route);
    const [reason] = list.reasons;
    const isOne = isSent(call.body);
    const sent = isOne ? [call.body] : requireList(call.body, 'body', ADDRESSES_MAX);
    const rows = sent.map((one, index) => rowOf(one, isOne ? '' : `[${index}].`, reason));
    const csv = writeCsv([['address', 'reason', 'note'], ...rows]);
    const { problems } = await perform<Imported>(route, call, 'POST /v1/suppressions/import', { body: { csv } });
    if (problems.length > 0)
      throw new DomainError('invalid_request', problems.map(({ message }) => message).join('; '));
    const count = rows.length === 1 ? 'Address has' : `${rows.length} addresses have`;
    return {
      message: `${count} been added to the ${list.name} table`,
      ...(rows.length === 1 ? { address: rows[0]?.[0] } : {}),
    };
  },
);

/** All routes of this file, by the name of the operation. */
export const MAILGUN_SUPPRESSION_ROUTES = {
  listMailgunSuppressionsRoute,
  getMailgunSuppressionRoute,
  deleteMailgunSuppressionRoute,
  addMailgunSuppressionsRoute,
};
