import { constants, zstdCompressSync } from 'node:zlib';
import { facetsOf, type Leaf, leafOf, parseLeaf, treeOf } from '../../domain/audit/leaf.ts';
import { foreignEvents } from '../../domain/kernel/event-macs.ts';
import type { IsAuthentic, Position, RecordedEvent } from '../../domain/kernel/event-store.ts';
import { CATEGORIES } from '../../domain/kernel/streams.ts';
import { asRecords, type Database, rowsInto } from '../../lib/projections/projections.ts';
import { HASH_BYTES, rootOfComplete } from '../../lib/transparency/transparency.ts';
import type { Projection } from '../projection.ts';
import { encodeEntries, hashEntries, TILE_WIDTH } from './tiles.ts';
import { putCheckpoints, type SignedPart, signedAfter } from './tree.ts';

/**
 * The audit trees: for each organization a Merkle tree (RFC 9162) of its events in the order of the log. Leaves wait in
 * `audit_tail` until 256 of them fill a bundle, whose entries are their texts. Its tile of level 0 is not kept: hashing the texts takes a fifth of a
 * millisecond. Its root is in the tiles above (C2SP tlog-tiles). The rows do not depend on how the log is cut into batches.
 */

/**
 * 1.3 µs a leaf here, 2.9 on the thread pool; a bundle is done in a third of a millisecond. The next level takes twice the
 * time and saves nothing.
 */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

interface PendingLeaf {
  readonly leaf: string;
  readonly position: Position;
  readonly parsed: Pick<Leaf, 'id' | 'type' | 'data' | 'metadata' | 'stream'>;
}

/** A tree before a batch, as its row. */
export interface Tree extends SignedPart {
  readonly tree: string;
  readonly size: number;
  /** Latest time of the leaves in bundles. */
  readonly latest: string;
}

/** A tree, and what a batch adds to it. */
interface GrowingTree extends Tree {
  latest: string;
  readonly events: RecordedEvent[];
}

const TREES = {
  name: 'audit-trees',
  text: `
    select tree, size::float8 as size, latest, signed_size::float8 as "signedSize", grown_to::float8 as "grownTo", disputed
    from audit_trees where tree = any($1)`,
};

const EMPTY = { size: 0, latest: '', signedSize: 0, grownTo: 0, disputed: false };

const growingOf = async (db: Database, events: readonly RecordedEvent[]): Promise<readonly GrowingTree[]> => {
  const byTree = Map.groupBy(events, treeOf);
  const { rows } = await db.query<Tree>({
    ...TREES,
    values: [[...byTree.keys()]],
  });
  const known = new Map(rows.map((row) => [row.tree, row]));
  return [...byTree].map(([tree, added]) => ({ tree, ...EMPTY, ...known.get(tree), events: added }));
};

const TAIL = {
  name: 'audit-tail',
  text: 'select leaf, position from audit_tail where tree = $1 order by leaf_index',
};

/** The leaves of a tree that are in no bundle yet. */
const tailOf = async (db: Database, tree: string): Promise<readonly PendingLeaf[]> => {
  const { rows } = await db.query<{ leaf: string; position: Position }>({ ...TAIL, values: [tree] });
  return rows.map((row) => ({ ...row, parsed: parseLeaf(row.leaf) }));
};

const pendingLeaf = (event: RecordedEvent): PendingLeaf => ({
  leaf: leafOf(event),
  position: event.position,
  parsed: event,
});

interface TailRow {
  readonly tree: string;
  readonly leafIndex: number;
  readonly leaf: string;
  readonly position: Position;
}

const insertTail = rowsInto<TailRow>('audit_tail', {
  tree: 'tree',
  leaf_index: 'leafIndex',
  leaf: 'leaf',
  position: 'position',
});

/** Ids and names of types: nothing in them has a meaning in an array. */
const textArray = (texts: readonly string[]): string => `{${texts.map((text) => `"${text}"`).join(',')}}`;

/** Values by which searches find a bundle. */
export const foundBy = (leaves: readonly PendingLeaf['parsed'][]) => {
  const ids = leaves.map(({ id }) => id);
  return {
    idFrom: ids.reduce((least, id) => (id < least ? id : least)),
    idTo: ids.reduce((most, id) => (id > most ? id : most)),
    facets: [...new Set(leaves.flatMap(facetsOf))].sort(),
  };
};

const bundleRow = (tree: string, bundle: number, leaves: readonly PendingLeaf[], latest: string) => {
  const entries = encodeEntries(leaves.map(({ leaf }) => leaf));
  const { idFrom, idTo, facets } = foundBy(leaves.map(({ parsed }) => parsed));
  return {
    tree,
    bundle,
    entries: zstdCompressSync(entries, COMPRESSION),
    position: leaves[0]?.position,
    latest,
    idFrom,
    idTo,
    facets: textArray(facets),
    root: rootOfComplete(hashEntries(entries)),
  };
};
type BundleRow = ReturnType<typeof bundleRow>;

const insertBundles = rowsInto<BundleRow>('audit_bundles', {
  tree: 'tree',
  bundle: 'bundle',
  entries: 'entries',
  first_position: 'position',
  latest: 'latest',
  id_from: 'idFrom',
  id_to: 'idTo',
  facets: 'facets',
});

const EXTEND_TILE = {
  name: 'audit-extend-tile',
  text: `
    insert into audit_tiles as t (tree, level, tile, hashes) values ($1, $2, $3, $4)
    on conflict (tree, level, tile) do update set hashes = t.hashes || excluded.hashes
    returning hashes`,
};

/** A level of the tiles of a tree. */
interface Level {
  readonly tree: string;
  readonly level: number;
}

/** Adds roots of full tiles to the level above them, and the root of each tile that is full then to the next above. */
const addRoots = async (db: Database, { tree, level }: Level, first: number, roots: readonly Buffer[]) => {
  const byTile = Map.groupBy(roots.entries(), ([index]) => Math.floor((first + index) / TILE_WIDTH));
  for (const [tile, added] of byTile) {
    const values = [tree, level, tile, Buffer.concat(added.map(([, root]) => root))];
    const { rows } = await db.query<{ hashes: Buffer }>({ ...EXTEND_TILE, values });
    const hashes = rows[0]?.hashes ?? Buffer.alloc(0);
    if (hashes.length === TILE_WIDTH * HASH_BYTES)
      await addRoots(db, { tree, level: level + 1 }, tile, [rootOfComplete(hashes)]);
  }
};

const TRIM_TAIL = {
  name: 'audit-trim-tail',
  text: 'delete from audit_tail where tree = $1 and leaf_index < $2',
};

const latestOf = (leaves: readonly PendingLeaf[], before: string): string =>
  leaves.reduce((most, { parsed }) => (parsed.metadata.occurredAt > most ? parsed.metadata.occurredAt : most), before);

/** Writes the bundles that the batch fills. @returns the leaves that fill none. */
const fillBundles = async (db: Database, growing: GrowingTree): Promise<readonly PendingLeaf[]> => {
  const { tree, size, events } = growing;
  const first = Math.floor(size / TILE_WIDTH);
  const pending = [...(await tailOf(db, tree)), ...events.map(pendingLeaf)];
  const bundles: BundleRow[] = [];
  while (pending.length >= TILE_WIDTH) {
    const leaves = pending.splice(0, TILE_WIDTH);
    growing.latest = latestOf(leaves, growing.latest);
    bundles.push(bundleRow(tree, first + bundles.length, leaves, growing.latest));
  }
  await insertBundles(db, bundles);
  const roots = bundles.map(({ root }) => root);
  await addRoots(db, { tree, level: 1 }, first, roots);
  await db.query({ ...TRIM_TAIL, values: [tree, (first + bundles.length) * TILE_WIDTH] });
  return pending;
};

const PUT_TREES = {
  name: 'audit-put-trees',
  text: `
    insert into audit_trees (tree, size, latest, signed_size, grown_to, disputed)
    select tree, size, latest, "signedSize", "grownTo", disputed
    from json_to_recordset($1)
      as t(tree text, size bigint, latest text, "signedSize" bigint, "grownTo" bigint, disputed boolean)
    on conflict (tree) do update set size = excluded.size, latest = excluded.latest,
      signed_size = excluded.signed_size, grown_to = excluded.grown_to, disputed = excluded.disputed`,
};

/** @returns the rows of the tail that the batch adds: what was in it before is in a bundle now, or stays. */
const grow = async (db: Database, growing: GrowingTree): Promise<readonly TailRow[]> => {
  const { tree, size, events } = growing;
  const isFilling = (size % TILE_WIDTH) + events.length >= TILE_WIDTH;
  const left = isFilling ? await fillBundles(db, growing) : events.map(pendingLeaf);
  const first = size + events.length - left.length;
  return left.map(({ leaf, position }, index) => ({ tree, leafIndex: first + index, leaf, position }));
};

const treeRow = (growing: GrowingTree): Tree => ({
  tree: growing.tree,
  size: growing.size + growing.events.length,
  latest: growing.latest,
  ...signedAfter(growing, growing.size, growing.events),
});

const ADOPT = {
  name: 'audit-adopt-events',
  text: 'update audit_trees set foreign_leaf = null, foreign_event = null where foreign_leaf is not null',
};

const PUT_FOREIGN = {
  name: 'audit-put-foreign-event',
  text: 'update audit_trees set foreign_leaf = $2, foreign_event = $3 where tree = $1 and foreign_leaf is null',
};

/** Notes the first event of each tree that this service cannot prove to have written. @param all before the batch. */
const putForeign = async (
  db: Database,
  all: readonly GrowingTree[],
  events: readonly RecordedEvent[],
  isAuthentic: IsAuthentic | undefined,
): Promise<void> => {
  const foreign = foreignEvents(events, isAuthentic);
  if (foreign.adoptsEarlier) await db.query(ADOPT);
  for (const [tree, [first]] of Map.groupBy(foreign.events, treeOf)) {
    const growing = all.find((one) => one.tree === tree);
    if (growing === undefined || first === undefined) continue;
    await db.query({ ...PUT_FOREIGN, values: [tree, growing.size + growing.events.indexOf(first), first.id] });
  }
};

const apply: Projection['apply'] = async (db, events, isAuthentic) => {
  if (events.length === 0) return;
  const all = await growingOf(db, events);
  const tail: TailRow[] = [];
  for (const growing of all) tail.push(...(await grow(db, growing)));
  await insertTail(db, tail);
  await db.query({ ...PUT_TREES, values: asRecords(all.map(treeRow)) });
  await putForeign(db, all, events, isAuthentic);
  await putCheckpoints(db, events);
};

export const auditProjection: Projection = {
  name: 'audit',
  version: 4,
  categories: Object.values(CATEGORIES),
  tables: ['audit_trees', 'audit_tail', 'audit_bundles', 'audit_tiles', 'audit_checkpoints'],
  isWhole: true,
  apply,
};
