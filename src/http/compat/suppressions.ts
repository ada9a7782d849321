import { DomainError } from '../../domain/kernel/errors.ts';
import type { SuppressionReason } from '../../domain/suppression/events.ts';
import type { Call, RouteContext } from '../endpoint.ts';
import type { SerializedSuppression } from '../resources/suppressions/add-suppressions.ts';
import { type List, type PathNames, perform } from './translate.ts';

/**
 * Suppression lists of other services by our own operations. Their clients name addresses; ours have ids, and one
 * suppression holds all reasons against an address.
 */

/** Streams that their lists are about. `any`: an entry of any scope counts. */
type Stream = 'transactional' | 'bulk' | 'any';

interface SuppressedBy {
  readonly reasons?: readonly SuppressionReason[];
  readonly stream?: Stream;
  /** Added at or after; ISO 8601. */
  readonly since?: string | undefined;
  /** Added at or before. */
  readonly until?: string | undefined;
}

type Entry = SerializedSuppression['entries'][number];

const PAGE = 100;
/**
 * Their lists have pages by number, ours by cursor: earlier pages are read again. Higher: one request reads the list for
 * longer than its client waits. Lower: programs cannot read a list that they could read before.
 */
const ITEMS_MAX = 1_000;

const isAbout = ({ scope }: Entry, stream: Stream): boolean =>
  stream === 'any' ? scope !== 'topic' : scope === 'all' || scope === stream;

const isIn = (entry: Entry, { reasons = [entry.reason], stream = 'any', ...by }: SuppressedBy): boolean => {
  const { since = entry.added_at, until = entry.added_at } = by;
  return (
    entry.status === 'active' &&
    reasons.includes(entry.reason) &&
    isAbout(entry, stream) &&
    entry.added_at >= since &&
    entry.added_at <= until
  );
};

/** Entry in force that puts an address on a list; undefined: none does. */
export const entryIn = ({ entries }: SerializedSuppression, by: SuppressedBy): Entry | undefined =>
  entries.find((one) => isIn(one, by));

/** Entry in force, not on the list, that also suppresses an address: removing the address would remove it too. */
const entryBeside = ({ entries }: SerializedSuppression, by: SuppressedBy): Entry | undefined =>
  entries.find((one) => one.status === 'active' && !isIn(one, by));

interface ListedAddress {
  readonly address: string;
  readonly entry: Entry;
  readonly found: SerializedSuppression;
}

const tooLong = (instead: string): DomainError =>
  new DomainError(
    'invalid_request',
    `the list is longer than ${ITEMS_MAX} items: read it with ${instead}, which has cursors`,
  );

/**
 * Items `offset` to `offset + limit` of a list of ours, read page by page.
 * @param take the vendor's items for one of ours; none: it is not on the vendor's list.
 * @throws {DomainError} `invalid_request` if that is further than `ITEMS_MAX`.
 */
export const pageByNumber = async <Item, Taken>(
  read: (query: Readonly<Record<string, string>>) => Promise<List<Item>>,
  { offset, limit, instead }: { readonly offset: number; readonly limit: number; readonly instead: string },
  take: (item: Item) => readonly Taken[],
): Promise<{ readonly items: readonly Taken[]; readonly hasMore: boolean }> => {
  const found: Taken[] = [];
  let query: Readonly<Record<string, string>> | null = { limit: String(PAGE) };
  for (let count = 0; query !== null && found.length <= offset + limit; count += PAGE) {
    if (count >= ITEMS_MAX) throw tooLong(instead);
    const { data, next_cursor: after }: List<Item> = await read(query);
    found.push(...data.flatMap(take));
    query = after === null ? null : { limit: String(PAGE), after };
  }
  return { items: found.slice(offset, offset + limit), hasMore: found.length > offset + limit };
};

/** The number of items is not counted: a page that has a successor says that there is one more. */
export const totalOf = (
  offset: number,
  { items, hasMore }: { readonly items: readonly unknown[]; readonly hasMore: boolean },
) => offset + items.length + (hasMore ? 1 : 0);

/**
 * Addresses on a list of theirs, the latest first. An erased address is on no list.
 * @param removable only addresses that `unsuppress` removes.
 */
export const listSuppressed = async (
  route: RouteContext,
  call: Call<unknown, unknown>,
  {
    offset,
    limit,
    removable = false,
    ...by
  }: SuppressedBy & { readonly offset: number; readonly limit: number; readonly removable?: boolean },
): Promise<{ readonly items: readonly ListedAddress[]; readonly hasMore: boolean }> => {
  const [reason, ...others] = by.reasons ?? [];
  const filter = reason === undefined || others.length > 0 ? {} : { reason };
  return pageByNumber(
    (query) =>
      perform<List<SerializedSuppression>>(route, call, 'GET /v1/suppressions', { query: { ...query, ...filter } }),
    { offset, limit, instead: 'GET /v1/suppressions' },
    (one): readonly ListedAddress[] => {
      const entry = entryIn(one, by);
      if (removable && entryBeside(one, by) !== undefined) return [];
      return entry === undefined || one.address === null ? [] : [{ address: one.address, entry, found: one }];
    },
  );
};

/** The suppression of an address; null: nothing suppresses it, or its caller may not see why. */
export const findSuppressed = async (
  route: RouteContext,
  call: Call<unknown, unknown>,
  address: string,
  names: PathNames,
): Promise<SerializedSuppression | null> => {
  const { data } = await perform<List<SerializedSuppression>>(route, call, 'GET /v1/suppressions', {
    query: { address },
    names,
  });
  return data[0] ?? null;
};

/** Suppresses addresses. @returns those on the list now, without duplicates. */
export const suppress = async (
  route: RouteContext,
  call: Call<unknown, unknown>,
  body: { readonly addresses: unknown; readonly scope: 'all' | 'transactional' | 'bulk' },
  names: PathNames,
): Promise<readonly SerializedSuppression[]> => {
  const { data } = await perform<{ readonly data: readonly SerializedSuppression[] }>(
    route,
    call,
    'POST /v1/suppressions',
    { body, names },
  );
  return data;
};

/**
 * Removes an address from a list of theirs. Ours removes every reason at once, so another reason must be removed with it
 * knowingly.
 * @returns false if it is not on the list.
 * @throws {DomainError} `resource_conflict` if another reason suppresses it too, or other mail.
 */
export const unsuppress = async (
  route: RouteContext,
  call: Call<unknown, unknown>,
  { address, names, ...by }: SuppressedBy & { readonly address: string; readonly names: PathNames },
): Promise<boolean> => {
  const found = await findSuppressed(route, call, address, names);
  if (found === null) return false;
  const other = entryBeside(found, by);
  if (other !== undefined) {
    const problem = `the address is also suppressed for another reason or stream (${other.reason}, ${other.scope}): remove all with DELETE /v1/suppressions/${found.id}`;
    throw new DomainError('resource_conflict', problem);
  }
  if (entryIn(found, by) === undefined) return false;
  await perform(route, call, 'DELETE /v1/suppressions/:id', { id: found.id });
  return true;
};
