import { facetsOf, type Leaf, messageFacet, messageOf, parseLeaf } from '../../domain/audit/leaf.ts';
import type { Position } from '../../domain/kernel/event-store.ts';
import type { AuditTrees } from '../../domain/ports/requests.ts';
import type { Database } from '../database.ts';
import { TILE_WIDTH } from './tiles.ts';

/** Looks for leaves of an audit tree by what they say. */
export interface SearchLeaves {
  readonly tree: string;
  /** Facets that a leaf must all have (`facetsOf`). */
  readonly facets: readonly string[];
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
  readonly leaves: readonly { readonly index: number; readonly parsed: Leaf }[];
  /** Index behind which the search goes on; null: it saw the end. */
  readonly next: number | null;
}

/** Bundles of one search: 5,000 leaves are read and parsed in some 20 ms. Where they hold too few, the next page goes on. */
const BUNDLES_MAX = 20;

type Order = SearchLeaves['order'];

const bundlesSql = (order: Order) => ({
  name: `audit-search-${order}`,
  text: `
    select bundle::float8 as bundle from read_models.audit_bundles
    where tree = $1 and bundle ${order === 'asc' ? '>=' : '<='} $2 and facets @> $3 and latest >= $4
    order by bundle ${order} limit ${BUNDLES_MAX}`,
});
const BUNDLES = { asc: bundlesSql('asc'), desc: bundlesSql('desc') };

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

const isWanted = (leaf: Leaf, { facets, message, since, until }: SearchLeaves): boolean => {
  const { occurredAt } = leaf.metadata;
  if (message !== undefined && messageOf(leaf) !== message.id) return false;
  if ((since !== undefined && occurredAt < since) || (until !== undefined && occurredAt >= until)) return false;
  const own = facetsOf(leaf);
  return facets.every((facet) => own.includes(facet));
};

const fullBundles = async (db: Database, first: number, by: SearchLeaves): Promise<readonly number[]> => {
  const { tree, facets, message, since = '', order } = by;
  const query =
    message === undefined
      ? { ...BUNDLES[order], values: [tree, first, facets, since] }
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

interface FoundEntry {
  readonly index: number;
  readonly parsed: Leaf;
}

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
  const { tree, order, limit } = by;
  const bundles = await bundlesOf(db, await trees.size(tree), by);
  const found: FoundEntry[] = [];
  for (const bundle of bundles) {
    found.push(...searchBundle(await trees.leaves(tree, bundle, bundle + 1), bundle, by));
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
