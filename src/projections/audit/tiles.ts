import { hash } from 'node:crypto';
import { facetsOf, type Leaf, messageFacet, messageOf, parseLeaf } from '../../domain/audit/leaf.ts';
import { eventIdsOf, isCustomerEventOf } from '../../domain/customer-events/customer-events.ts';
import type { Position } from '../../domain/kernel/event-store.ts';
import type { AuditTrees, FoundLeaf } from '../../domain/ports/requests.ts';
import type { Database } from '../../lib/projections/projections.ts';
import { HASH_BYTES } from '../../lib/transparency/transparency.ts';

/** Tiles and bundles of entries in the form of C2SP tlog-tiles. */

/** Hashes of a full tile, and leaves of a full bundle. */
export const TILE_WIDTH = 256;
/** Levels of a tree in one tile. */
export const TILE_HEIGHT = 8;

const LENGTH_BYTES = 2;

/** A UTF-16 code unit is at most three bytes of UTF-8. */
const UTF8_BYTES_MAX = 3;

/** A bundle: the bytes of each leaf behind their number as a big-endian uint16 (tlog-tiles, "Log entries"). */
export const encodeEntries = (leaves: readonly string[]): Buffer => {
  const room = leaves.reduce((sum, leaf) => sum + LENGTH_BYTES + UTF8_BYTES_MAX * leaf.length, 0);
  const bytes = Buffer.allocUnsafe(room);
  let at = 0;
  for (const leaf of leaves) {
    const size = bytes.write(leaf, at + LENGTH_BYTES);
    at = bytes.writeUInt16BE(size, at) + size;
  }
  return bytes.subarray(0, at);
};

/**
 * The leaf hashes of a full bundle, one after another. Hashed in place, in half the time: while a leaf is, the byte before it
 * is the 0x00 that the tree begins leaves with.
 */
export const hashEntries = (entries: Buffer): Buffer => {
  const hashes = Buffer.allocUnsafe(TILE_WIDTH * HASH_BYTES);
  let at = 0;
  for (let index = 0; index < TILE_WIDTH; index += 1) {
    const end = at + LENGTH_BYTES + entries.readUInt16BE(at);
    const low = entries[at + 1] as number;
    entries[at + 1] = 0;
    hashes.write(hash('sha256', entries.subarray(at + 1, end), 'binary'), index * HASH_BYTES, 'latin1');
    entries[at + 1] = low;
    at = end;
  }
  return hashes;
};

export const decodeEntries = (bytes: Buffer): readonly string[] => {
  const leaves: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + LENGTH_BYTES + bytes.readUInt16BE(at);
    leaves.push(bytes.toString('utf8', at + LENGTH_BYTES, end));
    at = end;
  }
  return leaves;
};

/** Which resource of a log a path names: hashes of a level, or a bundle of entries. */
export interface TileName {
  readonly level: number | 'entries';
  readonly tile: number;
  /** Hashes or entries in it; below 256 it is partial. */
  readonly width: number;
}

const PATH =
  /^tile\/(?<level>entries|0|[1-9]|[1-5]\d|6[0-3])\/(?<index>(?:x\d{3}\/){0,4}\d{3})(?:\.p\/(?<width>[1-9]\d{0,2}))?$/;

/** `tile/0/x001/234` and, of a partial one, `tile/0/x001/234.p/17` (tlog-tiles, "Merkle Tree"). */
export const tilePath = ({ level, tile, width }: TileName): string => {
  const digits = String(tile);
  const elements = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  const index = elements.map((element, at) => (at < elements.length - 1 ? `x${element}` : element)).join('/');
  return `tile/${level}/${index}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
};

/** @returns null: it is no path of a tile in its one form. */
export const parseTilePath = (path: string): TileName | null => {
  const { level = '', index = '', width = String(TILE_WIDTH) } = PATH.exec(path)?.groups ?? {};
  const name: TileName = {
    level: level === 'entries' ? level : Number(level),
    tile: Number(index.replaceAll(/[x/]/g, '')),
    width: Number(width),
  };
  return tilePath(name) === path ? name : null;
};

/** Looks for leaves of an audit tree by ids of events. Bundles know between which ids theirs are; leaves have no index. */

/** Bundles that may hold an id of one of these ranges, and the one that is not full. */
const bundlesOfIdsSql = (schema: string) => ({
  name: `audit-bundles-of-ids-${schema}`,
  text: `
    select b.bundle::float8 as bundle from unnest($2::uuid[], $3::uuid[]) w(first, last)
    join ${schema}audit_bundles b on b.tree = $1 and b.id_to >= w.first and b.id_from <= w.last
    union
    select floor(size / ${TILE_WIDTH})::float8 from ${schema}audit_trees where tree = $1
    order by 1`,
});

/** Reading a leaf takes 4 µs, looking whether it may be one of those 0.3. */
const UUIDS = /"id":"[0-9a-f-]{36}"/g;
const ID_FROM = '"id":"'.length;
const idsIn = (leaf: string): readonly string[] => (leaf.match(UUIDS) ?? []).map((found) => found.slice(ID_FROM, -1));

interface LeafQuery {
  /** Between which UUIDs. */
  readonly ranges: readonly (readonly [first: string, last: string])[];
  mayBe(id: string): boolean;
  is(leaf: Leaf): boolean;
  /** How many there are at most. */
  readonly count: number;
}

const foundIn = (leaves: readonly string[], bundle: number, { mayBe, is }: LeafQuery): readonly FoundLeaf[] =>
  leaves.flatMap((leaf, at) => {
    if (!idsIn(leaf).some(mayBe)) return [];
    const parsed = parseLeaf(leaf);
    return is(parsed) ? [{ index: bundle * TILE_WIDTH + at, leaf, parsed }] : [];
  });

/** Finds leaves by the ids of their events. Each bundle is read once. */
export const createFinder = (
  db: Database,
  { leaves }: Pick<AuditTrees, 'leaves'>,
  schema: string,
): Pick<AuditTrees, 'findAll' | 'findCustomerEvent'> => {
  const sql = bundlesOfIdsSql(schema);

  const find = async (tree: string, wanted: LeafQuery): Promise<readonly FoundLeaf[]> => {
    const { ranges, count } = wanted;
    const values = [tree, ranges.map(([first]) => first), ranges.map(([, last]) => last)];
    const { rows } = await db.query<{ bundle: number }>({ ...sql, values });
    const found: FoundLeaf[] = [];
    for (const { bundle } of rows) {
      if (found.length >= count) break;
      found.push(...foundIn(await leaves(tree, bundle, bundle + 1), bundle, wanted));
    }
    return found;
  };

  return {
    findAll: async (tree, eventIds) => {
      const wanted = new Set(eventIds);
      const found = await find(tree, {
        ranges: [...wanted].map((id) => [id, id]),
        mayBe: (id) => wanted.has(id),
        is: ({ id }) => wanted.has(id),
        count: wanted.size,
      });
      return new Map(found.map((leaf) => [leaf.parsed.id, leaf]));
    },

    findCustomerEvent: async (tree, id) => {
      const [first, last] = eventIdsOf(id);
      const [found = null] = await find(tree, {
        ranges: [[first, last]],
        mayBe: (eventId) => eventId >= first && eventId <= last,
        is: (leaf) => isCustomerEventOf(id, leaf),
        count: 1,
      });
      return found;
    },
  };
};

export interface FoundEntry {
  readonly index: number;
  readonly parsed: Leaf;
}

/** A condition that facets cannot express alone. */
export interface LeafCondition {
  /** A bundle with such a leaf has one of these facets. */
  readonly facets: readonly string[];
  /** @param facets of the leaf. */
  is(leaf: Leaf, facets: readonly string[]): boolean;
}

/** Looks for leaves of an audit tree by what they say. */
export interface SearchLeaves {
  readonly tree: string;
  /** Facets that a leaf must all have (`facetsOf`). */
  readonly facets: readonly string[];
  /** Conditions that a leaf must all fulfil. */
  readonly conditions?: readonly LeafCondition[];
  /** False: leaves that workers caused are left out. */
  readonly byWorkers?: boolean;
  /** A condition on facts outside the log, asked for all leaves of a bundle at once. */
  readonly keep?: ((entries: readonly FoundEntry[]) => Promise<readonly FoundEntry[]>) | undefined;
  /** The message that they concern, and the log positions of its events. */
  readonly message?: { readonly id: string; readonly positions: readonly Position[] } | undefined;
  /** From this time on, and before that one (ISO 8601). */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly order: 'asc' | 'desc';
  /** Index behind which it goes on; null: from the end that the order begins at. */
  readonly after: number | null;
  readonly limit: number;
}

export interface LeafPage {
  readonly leaves: readonly FoundEntry[];
  /** Index behind which the search goes on; null: it saw the end. */
  readonly next: number | null;
}

/** Bundles of one search: 5,000 leaves are read and parsed in some 20 ms. Where they hold too few, the next page goes on. */
const BUNDLES_MAX = 20;

type Order = SearchLeaves['order'];

/** @param conditions their number, as each has a parameter. */
const bundlesSql = (order: Order, conditions: number): string => `
    select bundle::float8 as bundle from read_models.audit_bundles
    where tree = $1 and bundle ${order === 'asc' ? '>=' : '<='} $2 and facets @> $3 and latest >= $4
      and ($5::uuid is null or id_from <= $5)
      ${Array.from({ length: conditions }, (_, at) => `and facets && $${at + 6}::text[]`).join(' ')}
    order by bundle ${order} limit ${BUNDLES_MAX}`;

/**
 * Ids of events hold the time at which they were appended, which is later than that of the event: by the time an append
 * takes, and by as much as clocks differ. Higher: more bundles are read than needed. Lower: events may be missed.
 */
const APPENDED_WITHIN_MS = 3_600_000;
const TIME_DIGITS = 12;

/** Greatest id of the events before a time. */
const lastIdBefore = (time: string): string => {
  const hex = (Date.parse(time) + APPENDED_WITHIN_MS).toString(16).padStart(TIME_DIGITS, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-ffff-ffff-ffffffffffff`;
};

/** A bundle holds the events from its first position up to that of the next. Few are about one message: all are read. */
const messageBundlesSql = (order: Order) => ({
  name: `audit-search-message-${order}`,
  text: `
    select bundle::float8 as bundle from (
      select (select b.bundle from read_models.audit_bundles b
        where b.tree = $1 and b.first_position <= p.position collate "C" order by b.first_position desc limit 1)
      from unnest($3::text[]) p(position)
      union
      select bundle from read_models.audit_bundles where tree = $1 and facets @> $4
    ) b where bundle ${order === 'asc' ? '>=' : '<='} $2
    order by b.bundle ${order} limit ${BUNDLES_MAX}`,
});
const MESSAGE_BUNDLES = { asc: messageBundlesSql('asc'), desc: messageBundlesSql('desc') };

const WORKER = 'worker:';

const isWithinTime = ({ metadata: { occurredAt } }: Leaf, { since, until }: SearchLeaves): boolean =>
  (since === undefined || occurredAt >= since) && (until === undefined || occurredAt < until);

const isWanted = (leaf: Leaf, by: SearchLeaves): boolean => {
  const { facets, conditions = [], message, byWorkers = true } = by;
  if (!byWorkers && leaf.metadata.actor.startsWith(WORKER)) return false;
  if (message !== undefined && messageOf(leaf) !== message.id) return false;
  if (!isWithinTime(leaf, by)) return false;
  const own = facetsOf(leaf);
  return facets.every((facet) => own.includes(facet)) && conditions.every(({ is }) => is(leaf, own));
};

const fullBundles = async (db: Database, first: number, by: SearchLeaves): Promise<readonly number[]> => {
  const { tree, facets, conditions = [], message, since = '', until, order } = by;
  const groups = conditions.map((condition) => condition.facets);
  const lastId = until === undefined ? null : lastIdBefore(until);
  const query =
    message === undefined
      ? { text: bundlesSql(order, groups.length), values: [tree, first, facets, since, lastId, ...groups] }
      : { ...MESSAGE_BUNDLES[order], values: [tree, first, message.positions, [messageFacet(message.id)]] };
  const { rows } = await db.query<{ bundle: number }>(query);
  return rows.map(({ bundle }) => bundle);
};

/** The bundles to look into, in order, the one that is not full among them. */
const bundlesOf = async (db: Database, size: number, by: SearchLeaves): Promise<readonly number[]> => {
  const { order, after } = by;
  const tail = Math.floor(size / TILE_WIDTH);
  const first = order === 'asc' ? Math.floor((after ?? -1) / TILE_WIDTH) : Math.floor((after ?? size) / TILE_WIDTH);
  const full = await fullBundles(db, Math.max(0, first), by);
  if (order === 'asc') return full.length < BUNDLES_MAX ? [...full, tail] : full;
  return first >= tail ? [tail, ...full] : full;
};

/** The leaves of a bundle that are asked for, in order. */
const searchBundle = (leaves: readonly string[], bundle: number, by: SearchLeaves): readonly FoundEntry[] => {
  const { order, after } = by;
  const isBehind = (index: number): boolean => after === null || (order === 'asc' ? index > after : index < after);
  const found: FoundEntry[] = [];
  for (const [at, leaf] of leaves.entries()) {
    const index = bundle * TILE_WIDTH + at;
    if (!isBehind(index)) continue;
    const parsed = parseLeaf(leaf);
    if (isWanted(parsed, by)) found.push({ index, parsed });
  }
  return order === 'asc' ? found : found.reverse();
};

/** @returns at most `limit` leaves in their order; fewer, with a next index, where the search would take too long. */
export const searchLeaves = async (
  db: Database,
  trees: Pick<AuditTrees, 'size' | 'leaves'>,
  by: SearchLeaves,
): Promise<LeafPage> => {
  const { tree, order, limit, keep = async (entries) => entries } = by;
  const bundles = await bundlesOf(db, await trees.size(tree), by);
  const found: FoundEntry[] = [];
  for (const bundle of bundles) {
    found.push(...(await keep(searchBundle(await trees.leaves(tree, bundle, bundle + 1), bundle, by))));
    if (found.length > limit) return { leaves: found.slice(0, limit), next: found[limit - 1]?.index ?? null };
  }
  if (bundles.length < BUNDLES_MAX) return { leaves: found, next: null };
  const last = (bundles.at(-1) ?? 0) * TILE_WIDTH;
  return { leaves: found, next: order === 'asc' ? last + TILE_WIDTH - 1 : last };
};

const LATER_BUNDLE = {
  name: 'audit-later-bundle',
  text: `
    select b.bundle::float8 as bundle, coalesce(p.latest, '') as before
    from read_models.audit_bundles b
    left join read_models.audit_bundles p on p.tree = b.tree and p.bundle = b.bundle - 1
    where b.tree = $1 and b.latest > $2
    order by b.latest, b.bundle limit 1`,
};
const TREE = {
  name: 'audit-later-tail',
  text: `
    select floor(size / ${TILE_WIDTH})::float8 as bundle, latest as before from read_models.audit_trees where tree = $1`,
};

/**
 * Number of leaves that a tree had at a time (ISO 8601): all leaves before the first later one. The same time therefore
 * always cuts the log at the same place, even if clocks differed.
 */
export const leavesAt = async (
  db: Database,
  trees: Pick<AuditTrees, 'leaves'>,
  tree: string,
  time: string,
): Promise<number> => {
  const values = [tree, time];
  const { rows: full } = await db.query<{ bundle: number; before: string }>({ ...LATER_BUNDLE, values });
  const { rows: tail } = await db.query<{ bundle: number; before: string }>({ ...TREE, values: [tree] });
  const [found] = [...full, ...tail];
  if (found === undefined) return 0;
  const first = found.bundle * TILE_WIDTH;
  if (found.before > time) return first;
  const leaves = await trees.leaves(tree, found.bundle, found.bundle + 1);
  const later = leaves.findIndex((leaf) => parseLeaf(leaf).metadata.occurredAt > time);
  return first + (later === -1 ? leaves.length : later);
};

const LATEST = {
  name: 'audit-latest',
  text: 'select latest from read_models.audit_bundles where tree = $1 and bundle = $2',
};

/** Latest time of the leaves in a full bundle and in all bundles before it; empty if the bundle does not exist. */
export const latestUpTo = async (db: Database, tree: string, bundle: number): Promise<string> => {
  const { rows } = await db.query<{ latest: string }>({ ...LATEST, values: [tree, bundle] });
  return rows[0]?.latest ?? '';
};
