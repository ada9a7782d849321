import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { isSealed, leafOf, rootOf } from '../../../domain/audit/leaf.ts';
import type { Position, RecordedEvent, Seals } from '../../../domain/kernel/event-store.ts';
import { NotInTree } from '../../../domain/ports/requests.ts';
import type { Database } from '../../../lib/projections/projections.ts';
import { completeRoots, HASH_BYTES, joined, leafHash, rootOfComplete } from '../../../lib/transparency/transparency.ts';
import type { Tree } from '../projection.ts';
import { decodeEntries, TILE_WIDTH } from '../tiles.ts';
import { createAuditTrees, type SignedPart, signedAfter } from '../tree.ts';
import type { Finding, NamedEvent } from './findings.ts';

/** Rows of the audit trees, as a check compares them with the log. Each statement sees one snapshot. */

const decompress = promisify(zstdDecompress);

export interface TreesAt {
  /** How far the projection has read the log. */
  readonly position: Position;
  readonly version: number;
  readonly logId: string;
  readonly trees: ReadonlyMap<string, TreeRow>;
}

/** A tree at the position. Cosignatures are counted in the same snapshot, since more arrive while a check runs. */
export interface TreeRow extends Tree {
  /** Total size of the cosignatures of its checkpoints. */
  readonly cosignedBytes: number;
}

const TREES_AT = {
  name: 'audit-check-trees',
  text: `
    select c.position, c.version, c.log_id as "logId", t.tree, t.size::float8 as size, t.latest,
      t.signed_size::float8 as "signedSize", t.grown_to::float8 as "grownTo", t.disputed,
      t.hashes, t.foreign_leaf::float8 as "foreignLeaf", t.foreign_event as "foreignEvent", t.seal,
      (select coalesce(sum(octet_length(s.cosignatures)), 0) from read_models.audit_checkpoints s where s.tree = t.tree)::float8
        as "cosignedBytes"
    from read_models.checkpoints c left join read_models.audit_trees t on true
    where c.name = 'audit'`,
};

/** @returns null: the projection has never run. */
export const treesAt = async (db: Database): Promise<TreesAt | null> => {
  const { rows } = await db.query<Omit<TreesAt, 'trees'> & TreeRow>(TREES_AT);
  const [first] = rows;
  if (first === undefined) return null;
  const { position, version, logId } = first;
  return {
    position,
    version,
    logId,
    trees: new Map(rows.filter(({ tree }) => tree !== null).map((row) => [row.tree, row])),
  };
};

const POSITION = {
  name: 'audit-check-position',
  text: `select position, version from read_models.checkpoints where name = 'audit'`,
};

/** How far the projection has read by now. @returns null: it has never run. */
export const positionNow = async (db: Database): Promise<Pick<TreesAt, 'position' | 'version'> | null> =>
  (await db.query<Pick<TreesAt, 'position' | 'version'>>(POSITION)).rows[0] ?? null;

/** A stored bundle: full bundles have a row of their own, the tail stores each leaf. */
export interface StoredBundle {
  readonly leaves: readonly string[];
  /** null for the tail. */
  readonly full: {
    /** Root of its leaves when it became full; null: the tile of level 1 is missing. */
    readonly root: Buffer | null;
    readonly firstPosition: Position;
    readonly latest: string;
    readonly idFrom: string;
    readonly idTo: string;
    readonly facets: readonly string[];
  } | null;
  /** Position of each leaf in the tail. */
  readonly positions: readonly Position[];
}

interface BundleRow {
  readonly entries: Buffer | null;
  readonly root: Buffer | null;
  readonly first_position: Position;
  readonly latest: string;
  readonly id_from: string;
  readonly id_to: string;
  readonly facets: readonly string[];
  readonly leaves: readonly string[];
  readonly positions: readonly Position[];
}

/** Leaves of the tail count from the first of the bundle on, as far as none is missing between them. */
const BUNDLE = {
  name: 'audit-check-bundle',
  text: `
    select entries, substring(t.hashes from (bundle % ${TILE_WIDTH})::integer * ${HASH_BYTES} + 1 for ${HASH_BYTES}) as root,
      first_position, latest, id_from, id_to, facets, null::text[] as leaves, null::text[] as positions
    from read_models.audit_bundles b
    left join read_models.audit_tiles t on t.tree = b.tree and t.level = 1 and t.tile = b.bundle / ${TILE_WIDTH}
    where b.tree = $1 and b.bundle = $2
    union all
    select null, null, null, null, null, null, null, array_agg(leaf order by leaf_index), array_agg(position order by leaf_index)
    from (
      select *, row_number() over (order by leaf_index) - 1 as nth from read_models.audit_tail
      where tree = $1 and leaf_index >= $2 * ${TILE_WIDTH}::bigint and leaf_index < ($2 + 1) * ${TILE_WIDTH}::bigint
    ) t
    where leaf_index = $2 * ${TILE_WIDTH}::bigint + nth
    having count(*) > 0`,
};

/** @returns null: nothing of it is stored, or what is stored cannot be read. */
export const storedBundle = async (db: Database, tree: string, bundle: number): Promise<StoredBundle | null> => {
  const { rows } = await db.query<BundleRow>({ ...BUNDLE, values: [tree, bundle] });
  const row = rows.find(({ entries }) => entries !== null) ?? rows[0];
  if (row === undefined) return null;
  if (row.entries === null) return { leaves: row.leaves, full: null, positions: row.positions };
  const leaves = await decompress(row.entries).then(decodeEntries, () => null);
  if (leaves === null) return null;
  const { root, first_position: firstPosition, latest, id_from: idFrom, id_to: idTo, facets } = row;
  return { leaves, full: { root, firstPosition, latest, idFrom, idTo, facets }, positions: [] };
};

const TILE = {
  name: 'audit-check-tile',
  text: 'select hashes from read_models.audit_tiles where tree = $1 and level = $2 and tile = $3',
};

/** @returns null if it does not exist. */
export const storedTile = async (
  db: Database,
  tree: string,
  { level, tile }: { readonly level: number; readonly tile: number },
): Promise<Buffer | null> => {
  const { rows } = await db.query<{ hashes: Buffer }>({ ...TILE, values: [tree, level, tile] });
  return rows[0]?.hashes ?? null;
};

interface CheckpointRow {
  readonly tree: string;
  readonly size: number;
  readonly note: string;
  readonly vkey: string;
  readonly signedAt: string;
  readonly cosignatures: string;
  readonly cosigners: readonly string[];
}

const CHECKPOINT = {
  name: 'audit-check-checkpoint',
  text: `
    select tree, size::float8 as size, note, vkey, signed_at as "signedAt", cosignatures, cosigners
    from read_models.audit_checkpoints where tree = $1 and size = $2`,
};

export const storedCheckpoint = async (db: Database, tree: string, size: number): Promise<CheckpointRow | null> => {
  const { rows } = await db.query<CheckpointRow>({ ...CHECKPOINT, values: [tree, size] });
  return rows[0] ?? null;
};

/** Rows that a tree of its size does not have. */
export interface Surplus {
  readonly bundles: number;
  readonly tail: number;
  readonly tiles: number;
  /** Beyond the last one that is signed: the largest of them. */
  readonly checkpointSize: number | null;
  /** Number of checkpoints up to a size. */
  readonly checkpoints: number;
}

const SURPLUS = {
  name: 'audit-check-surplus',
  text: `
    select
      (select count(*) from read_models.audit_bundles b where b.tree = t.tree and b.bundle >= t.size / ${TILE_WIDTH})::float8 as bundles,
      (select count(*) from read_models.audit_tail l where l.tree = t.tree
        and (l.leaf_index < t.size / ${TILE_WIDTH} * ${TILE_WIDTH} or l.leaf_index >= t.size))::float8 as tail,
      (select count(*) from read_models.audit_tiles s where s.tree = t.tree
        and octet_length(s.hashes) <> 32 * least(${TILE_WIDTH}, (t.size >> (8 * s.level)) - s.tile * ${TILE_WIDTH}))::float8 as tiles,
      (select max(c.size) from read_models.audit_checkpoints c where c.tree = t.tree and c.size > t.signed_size)::float8
        as "checkpointSize",
      (select count(*) from read_models.audit_checkpoints c where c.tree = t.tree and c.size <= $2)::float8 as checkpoints
    from read_models.audit_trees t where t.tree = $1`,
};

/** @param signedSize checkpoints are counted up to it. @returns null: the tree has no row. */
export const surplusOf = async (db: Database, tree: string, signedSize: number): Promise<Surplus | null> => {
  const { rows } = await db.query<Surplus>({ ...SURPLUS, values: [tree, signedSize] });
  return rows[0] ?? null;
};

/** A leaf as the log has it. */
export interface LogLeaf extends NamedEvent {
  readonly position: Position;
  readonly hash: Buffer;
}

/** A tile that is full. */
export interface FullTile {
  readonly level: number;
  readonly tile: number;
  readonly hashes: Buffer;
}

/** A tree as the log makes it, in memory the last bundle and the last tile of each level: at most 40 kB. */
export interface LogTree {
  readonly tree: string;
  readonly size: number;
  /** Latest time of the leaves so far. */
  readonly latest: string;
  /** The same of those in full bundles. */
  readonly latestInBundles: string;
  readonly signed: SignedPart;
  /** The leaves of the bundle that is not full. */
  readonly pending: readonly LogLeaf[];
  add(event: RecordedEvent): void;
  /** Empties the bundle, which is full. @returns the tiles of the levels above that are full with it. */
  closeBundle(): readonly FullTile[];
  /** The tiles above level 0 that are not full. */
  openTiles(): readonly FullTile[];
  /** The root of the first leaves; null: they end before the bundle that is not full. */
  rootAt(size: number): Buffer | null;
}

/** A tree up to some leaf. */
interface LogTreeState extends Pick<LogTree, 'size' | 'latest' | 'latestInBundles' | 'signed' | 'pending'> {
  /** Hashes of the last tile of level 1, 2, … */
  readonly above: readonly Buffer[];
  /** How many full tiles precede it. */
  readonly counts: readonly number[];
}

const NOTHING = Buffer.alloc(0);

const EMPTY: LogTreeState = {
  size: 0,
  latest: '',
  latestInBundles: '',
  pending: [],
  above: [],
  counts: [],
  signed: { signedSize: 0, grownTo: 0, disputed: false },
};

/** @param from the leaves that it begins with. Default: none. */
export const createLogTree = (tree: string, from: LogTreeState = EMPTY): LogTree => {
  let pending: LogLeaf[] = [...from.pending];
  const above: Buffer[] = [...from.above];
  const counts: number[] = [...from.counts];
  const { size, latest, latestInBundles, signed } = from;
  const state = { size, latest, latestInBundles, signed };

  const addRoot = (at: number, root: Buffer): readonly FullTile[] => {
    const hashes = Buffer.concat([above[at] ?? NOTHING, root]);
    above[at] = hashes;
    if (hashes.length < TILE_WIDTH * HASH_BYTES) return [];
    above[at] = NOTHING;
    const tile = counts[at] ?? 0;
    counts[at] = tile + 1;
    return [{ level: at + 1, tile, hashes }, ...addRoot(at + 1, rootOfComplete(hashes))];
  };

  return {
    tree,
    get size() {
      return state.size;
    },
    get latest() {
      return state.latest;
    },
    get latestInBundles() {
      return state.latestInBundles;
    },
    get signed() {
      return state.signed;
    },
    get pending() {
      return pending;
    },
    add: (event) => {
      const { occurredAt } = event.metadata;
      const { id, type, stream, revision, position } = event;
      pending.push({ id, type, stream, revision, position, hash: leafHash(leafOf(event)) });
      state.signed = signedAfter(state.signed, state.size, [event]);
      state.size += 1;
      if (occurredAt > state.latest) state.latest = occurredAt;
    },
    closeBundle: () => {
      const root = rootOfComplete(Buffer.concat(pending.map(({ hash }) => hash)));
      state.latestInBundles = state.latest;
      pending = [];
      return addRoot(0, root);
    },
    openTiles: () =>
      above.flatMap((hashes, at) => (hashes.length === 0 ? [] : [{ level: at + 1, tile: counts[at] ?? 0, hashes }])),
    rootAt: (size) => {
      const count = size - (state.size - pending.length);
      if (count < 0 || count > pending.length) return null;
      const leaves = Buffer.concat(pending.slice(0, count).map(({ hash }) => hash));
      return joined([...above.toReversed(), leaves].flatMap(completeRoots));
    },
  };
};

const rootInRows = async (db: Database, tree: string, size: number): Promise<Buffer | null> => {
  try {
    return await createAuditTrees(db).root(tree, size);
  } catch (error) {
    if (error instanceof NotInTree) return null;
    throw error;
  }
};

/** @param log the leaves so far. @returns null: the rows do not have so many. */
export const rootAt = async (
  db: Database,
  log: Pick<LogTree, 'tree' | 'rootAt'>,
  size: number,
): Promise<Buffer | null> => log.rootAt(size) ?? (await rootInRows(db, log.tree, size));

/** Faults of the sealed state of a tree, on which signing depends. */
export const stateFindings = (row: TreeRow, log: LogTree, seals: Seals | undefined): readonly Finding[] => {
  const { tree } = log;
  if (seals === undefined || row.size !== log.size) return [];
  if (!isSealed(row, seals)) {
    const sentence = `${tree}: its row in audit_trees was changed from outside the service: its seal does not fit, so nothing is signed until the trees are rebuilt`;
    return [{ kind: 'table', sentence }];
  }
  if (log.rootAt(log.size)?.equals(rootOf(row)) !== false) return [];
  const sentence = `${tree}: its ${log.size} leaves in the log have another root than those that the service read`;
  return [{ kind: 'follows', tree, ofTable: false, sentence }];
};
