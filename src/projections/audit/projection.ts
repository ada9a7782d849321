import { constants, zstdCompressSync } from 'node:zlib';
import {
  facetsOf,
  hashesOf,
  isSealed,
  type Leaf,
  leafOf,
  parseLeaf,
  rangeOf,
  sealState,
  type TreeState,
  treeOf,
} from '../../domain/audit/leaf.ts';
import { foreignEvents } from '../../domain/kernel/event-macs.ts';
import type { LogProofs, Position, RecordedEvent, Seals } from '../../domain/kernel/event-store.ts';
import { CATEGORIES } from '../../domain/kernel/streams.ts';
import { asRecords, type Database, rowsInto } from '../../lib/projections/projections.ts';
import { extended, HASH_BYTES, leafHash, rootOfComplete } from '../../lib/transparency/transparency.ts';
import type { Projection } from '../projection.ts';
import { encodeEntries, hashEntries, TILE_WIDTH } from './tiles.ts';
import { putCheckpoints, type SignedPart, signedAfter, TREES_VERSION } from './tree.ts';

/**
 * The audit trees: for each organization a Merkle tree (RFC 9162) of its events in the order of the log. Leaves wait in
 * `audit_tail` until 256 of them fill a bundle, whose entries are their texts. Its tile of level 0 is not kept: hashing the texts takes a fifth of a
 * millisecond. Its root is in the tiles above (C2SP tlog-tiles). The rows do not depend on how the log is cut into batches.
 *
 * The row of a tree also has its state, sealed (`TreeState`): signing compares the tables with it.
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

const NO_PROOFS: LogProofs = {};

/** A tree before a batch, as its row. */
export interface Tree extends SignedPart, TreeState {
  /** Latest time of the leaves in bundles. */
  readonly latest: string;
}

/** A tree, and what a batch adds to it. */
interface GrowingTree extends Tree {
  latest: string;
  readonly events: readonly RecordedEvent[];
  readonly leaves: readonly PendingLeaf[];
}

const TREES = {
  name: 'audit-trees',
  text: `
    select tree, size::float8 as size, latest, signed_size::float8 as "signedSize", grown_to::float8 as "grownTo", disputed,
      hashes, foreign_leaf::float8 as "foreignLeaf", foreign_event as "foreignEvent", seal
    from audit_trees where tree = any($1) or ($2 and foreign_leaf is not null)`,
};

const newTree = (tree: string, seals: Seals | undefined): Tree => {
  const signed = { latest: '', signedSize: 0, grownTo: 0, disputed: false };
  const state = { tree, size: 0, hashes: '', foreignLeaf: null, foreignEvent: null };
  return { ...signed, ...state, seal: seals === undefined ? null : sealState(state, seals) };
};

/** @param withForeign with all trees that have a foreign event. */
const growingOf = async (
  db: Database,
  events: readonly RecordedEvent[],
  { seals, withForeign }: { readonly seals: Seals | undefined; readonly withForeign: boolean },
): Promise<readonly GrowingTree[]> => {
  const byTree = Map.groupBy(events, treeOf);
  const { rows } = await db.query<Tree>({ ...TREES, values: [[...byTree.keys()], withForeign] });
  const known = new Map(rows.map((row) => [row.tree, row]));
  return [...new Set([...byTree.keys(), ...known.keys()])].map((tree) => {
    const added = byTree.get(tree) ?? [];
    return { ...(known.get(tree) ?? newTree(tree, seals)), events: added, leaves: added.map(pendingLeaf) };
  });
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
  const { tree, size, leaves: added } = growing;
  const first = Math.floor(size / TILE_WIDTH);
  const pending = [...(await tailOf(db, tree)), ...added];
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
    insert into audit_trees (tree, size, latest, signed_size, grown_to, disputed, hashes, foreign_leaf, foreign_event, seal)
    select tree, size, latest, "signedSize", "grownTo", disputed, hashes, "foreignLeaf", "foreignEvent", seal
    from json_to_recordset($1)
      as t(tree text, size bigint, latest text, "signedSize" bigint, "grownTo" bigint, disputed boolean, hashes text,
        "foreignLeaf" bigint, "foreignEvent" text, seal text)
    on conflict (tree) do update set size = excluded.size, latest = excluded.latest,
      signed_size = excluded.signed_size, grown_to = excluded.grown_to, disputed = excluded.disputed, hashes = excluded.hashes,
      foreign_leaf = excluded.foreign_leaf, foreign_event = excluded.foreign_event, seal = excluded.seal`,
};

/** @returns the rows of the tail that the batch adds: what was in it before is in a bundle now, or stays. */
const grow = async (db: Database, growing: GrowingTree): Promise<readonly TailRow[]> => {
  const { tree, size, leaves } = growing;
  const isFilling = (size % TILE_WIDTH) + leaves.length >= TILE_WIDTH;
  const left = isFilling ? await fillBundles(db, growing) : leaves;
  const first = size + leaves.length - left.length;
  return left.map(({ leaf, position }, index) => ({ tree, leafIndex: first + index, leaf, position }));
};

/** The first foreign event of a tree, after a batch. @param foreign those of the batch. */
const foreignAfter = (
  { size, events, foreignLeaf, foreignEvent }: GrowingTree,
  { adoptsEarlier, events: foreign }: ReturnType<typeof foreignEvents>,
): Pick<TreeState, 'foreignLeaf' | 'foreignEvent'> => {
  if (foreignLeaf !== null && !adoptsEarlier) return { foreignLeaf, foreignEvent };
  const among = new Set(foreign);
  const at = events.findIndex((event) => among.has(event));
  return at === -1
    ? { foreignLeaf: null, foreignEvent: null }
    : { foreignLeaf: size + at, foreignEvent: events[at]?.id ?? null };
};

/** State after a batch. If it was changed in the database, it stays as it is: it fits no later size, so nothing is signed. */
const stateAfter = (
  growing: GrowingTree,
  foreign: ReturnType<typeof foreignEvents>,
  seals: Seals | undefined,
): TreeState => {
  const { tree, hashes, seal } = growing;
  const size = growing.size + growing.leaves.length;
  const after = { tree, size, hashes, ...foreignAfter(growing, foreign) };
  if (seals === undefined || !isSealed(growing, seals)) return { ...after, seal };
  const range = growing.leaves.reduce((sum, { leaf }) => extended(sum, leafHash(leaf)), rangeOf(growing));
  const sealed = { ...after, hashes: hashesOf(range) };
  return { ...sealed, seal: sealState(sealed, seals) };
};

const apply: Projection['apply'] = async (db, events, proofs = NO_PROOFS) => {
  if (events.length === 0) return;
  const { seals, isAuthentic } = proofs;
  const foreign = foreignEvents(events, isAuthentic);
  const all = await growingOf(db, events, { seals, withForeign: foreign.adoptsEarlier });
  const tail: TailRow[] = [];
  for (const growing of all) tail.push(...(await grow(db, growing)));
  await insertTail(db, tail);
  const rows = all.map((growing) => ({
    ...stateAfter(growing, foreign, seals),
    latest: growing.latest,
    ...signedAfter(growing, growing.size, growing.events),
  }));
  await db.query({ ...PUT_TREES, values: asRecords(rows) });
  await putCheckpoints(db, events);
};

export const auditProjection: Projection = {
  name: 'audit',
  version: TREES_VERSION,
  categories: Object.values(CATEGORIES),
  tables: ['audit_trees', 'audit_tail', 'audit_bundles', 'audit_tiles', 'audit_checkpoints'],
  isWhole: true,
  apply,
};
