import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { treeOf } from '../../domain/audit/leaf.ts';
import { categoryOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { AuditEvent } from '../../domain/kernel/events.ts';
import { CATEGORIES } from '../../domain/kernel/streams.ts';
import { type AuditTrees, NotInTree, type StoredState, type Tile } from '../../domain/ports/requests.ts';
import { type Database, rowsInto } from '../../lib/projections/projections.ts';
import {
  HASH_BYTES,
  joined,
  leafHash,
  rootOfComplete,
  type Subtree,
  signatoryOf,
  subtreesOf,
} from '../../lib/transparency/transparency.ts';
import {
  createFinder,
  decodeEntries,
  hashEntries,
  type LeafPage,
  latestUpTo,
  leavesAt,
  type SearchLeaves,
  searchLeaves,
  TILE_HEIGHT,
  TILE_WIDTH,
} from './tiles.ts';

/** Reads of the audit trees: hashes and leaves. */

const decompress = promisify(zstdDecompress);

/** Hashes in a tile: from one up to and without another. */
interface Place extends Tile {
  readonly from: number;
  readonly to: number;
}

const placeOf = ({ level, index }: Subtree): Place => {
  const width = 2 ** (level % TILE_HEIGHT);
  const from = (index * width) % TILE_WIDTH;
  return {
    level: Math.floor(level / TILE_HEIGHT),
    tile: Math.floor((index * width) / TILE_WIDTH),
    from,
    to: from + width,
  };
};

const NOTHING = Buffer.alloc(0);

const keyOf = ({ level, tile }: Tile): string => `${level}/${tile}`;

interface TileRow extends Tile {
  /** Hashes of a tile above level 0. */
  readonly hashes: Buffer | null;
  /** Entries at level 0, of a full bundle or of the tail. */
  readonly entries: Buffer | null;
  readonly leaves: readonly string[] | null;
}

/** Raise it when the same events make other rows: the next start rebuilds the trees. */
export const TREES_VERSION = 5;

/** A full bundle takes half a millisecond. */
const hashesIn = async ({ hashes, entries, leaves }: TileRow): Promise<Buffer> => {
  if (entries !== null) return hashEntries(await decompress(entries));
  return hashes ?? Buffer.concat((leaves ?? []).map(leafHash));
};

interface EntriesRow {
  readonly entries: Buffer | null;
  readonly leaves: readonly string[] | null;
}

/** Each statement reads one snapshot, so that a bundle that fills up during the read causes no inconsistency. */
const statements = (schema: string) => {
  const named = (name: string, text: string) => ({ name: `audit-${name}-${schema}`, text });
  return {
    size: named('size', `select size::float8 as size from ${schema}audit_trees where tree = $1`),
    tiles: named(
      'tiles',
      `select 0 as level, bundle::float8 as tile, null::bytea as hashes, entries, null::text[] as leaves
       from ${schema}audit_bundles where tree = $1 and bundle = any($2::bigint[])
       union all
       select t.level, t.tile::float8, t.hashes, null, null
       from unnest($3::integer[], $4::bigint[]) as w(level, tile)
       join ${schema}audit_tiles t on t.tree = $1 and t.level = w.level and t.tile = w.tile
       union all
       select 0, (leaf_index / ${TILE_WIDTH})::float8, null, null, array_agg(leaf order by leaf_index)
       from ${schema}audit_tail where tree = $1 and leaf_index / ${TILE_WIDTH} = any($2::bigint[])
       group by 2`,
    ),
    entries: named(
      'entries',
      `select bundle, entries, null::text[] as leaves
       from ${schema}audit_bundles where tree = $1 and bundle >= $2 and bundle < $3
       union all
       select min(leaf_index) / ${TILE_WIDTH}, null, array_agg(leaf order by leaf_index)
       from ${schema}audit_tail
       where tree = $1 and leaf_index >= $2 * ${TILE_WIDTH}::bigint and leaf_index < $3 * ${TILE_WIDTH}::bigint
       having count(*) > 0
       order by 1`,
    ),
    unsigned: named(
      'unsigned',
      `select tree, grown_to::float8 as "grownTo" from ${schema}audit_trees where grown_to > signed_size limit $1`,
    ),
    checkpoints: named(
      'checkpoints',
      `select size::float8 as size, note || cosignatures as note, vkey, signed_at as "signedAt" from ${schema}audit_checkpoints
       where tree = $1 and size < $2 order by size desc limit $3`,
    ),
    uncosigned: named(
      'uncosigned',
      `select c.tree, c.note from ${schema}audit_trees t
       join ${schema}audit_checkpoints c on c.tree = t.tree and c.size = t.signed_size
       where not t.disputed and not $1 = any(c.cosigners) and t.tree <> all($2::text[]) limit $3`,
    ),
    state: named(
      'state',
      `select tree, size::float8 as size, hashes, foreign_leaf::float8 as "foreignLeaf", foreign_event as "foreignEvent", seal,
         coalesce((select version < ${TREES_VERSION} from ${schema}checkpoints where name = 'audit'), false) as "isOutdated"
       from ${schema}audit_trees where tree = $1`,
    ),
    foreign: named(
      'foreign',
      `select tree, foreign_leaf::float8 as leaf, foreign_event as "eventId" from ${schema}audit_trees
       where foreign_leaf is not null order by tree limit $1`,
    ),
    disputed: named('disputed', `select count(*)::integer as trees from ${schema}audit_trees where disputed`),
  };
};

/** Latest first. */
interface AskCheckpoints {
  readonly tree: string;
  /** Only those about fewer leaves. */
  readonly below?: number;
  readonly limit: number;
}

export interface StoredCheckpoint {
  readonly size: number;
  /** With cosignatures. */
  readonly note: string;
  /** The key that signed it. */
  readonly vkey: string;
  readonly signedAt: string;
}

/** Newest checkpoints that a witness has not cosigned. */
interface UncosignedQuery {
  /** Key of the witness, `<name>+<id>`. */
  readonly signatory: string;
  /** Trees that are left out. */
  readonly without: readonly string[];
  readonly limit: number;
}

interface UncosignedCheckpoint {
  readonly tree: string;
  /** The note as signed. */
  readonly note: string;
}

interface UnsignedTree {
  readonly tree: string;
  /** Leaves up to the last one that is not about checkpoints itself. */
  readonly grownTo: number;
}

interface ForeignLeaf {
  readonly tree: string;
  readonly leaf: number;
  readonly eventId: string;
}

interface AuditTreesAndCheckpoints extends AuditTrees {
  /** Trees that have grown by more than their own checkpoints since they were last signed. */
  unsigned(limit: number): Promise<readonly UnsignedTree[]>;
  checkpoints(by: AskCheckpoints): Promise<readonly StoredCheckpoint[]>;
  uncosigned(by: UncosignedQuery): Promise<readonly UncosignedCheckpoint[]>;
  /** Trees with an event that this service cannot prove to have written, and the first one of each. */
  foreign(limit: number): Promise<readonly ForeignLeaf[]>;
  /** How many trees are not signed because a witness contradicts them. */
  disputed(): Promise<number>;
  search(by: SearchLeaves): Promise<LeafPage>;
  /** Leaves of a tree at a time (`leavesAt`). */
  sizeAt(tree: string, time: string): Promise<number>;
  /** Latest time up to the end of a full bundle (`latestUpTo`). */
  latestUpTo(tree: string, bundle: number): Promise<string>;
}

/** @param schema of the tables, with its dot; empty: that of the transaction. */
export const createAuditTrees = (db: Database, schema = 'read_models.'): AuditTreesAndCheckpoints => {
  const sql = statements(schema);

  const tilesOf = async (tree: string, all: readonly Tile[]): Promise<ReadonlyMap<string, Buffer>> => {
    const wanted = [...new Map(all.map((tile) => [keyOf(tile), tile])).values()];
    const bundles = wanted.filter(({ level }) => level === 0).map(({ tile }) => tile);
    const above = wanted.filter(({ level }) => level > 0);
    const values = [tree, bundles, above.map(({ level }) => level), above.map(({ tile }) => tile)];
    const { rows } = await db.query<TileRow>({ ...sql.tiles, values });
    const hashes = rows.map(async (row): Promise<[string, Buffer]> => [keyOf(row), await hashesIn(row)]);
    return new Map(await Promise.all(hashes));
  };

  const hashes: AuditTrees['hashes'] = async (tree, ranges) => {
    const subtrees = ranges.map((range) => subtreesOf(range).map(placeOf));
    const tiles = await tilesOf(tree, subtrees.flat());
    const hashAt = (place: Place): Buffer => {
      const found = (tiles.get(keyOf(place)) ?? NOTHING).subarray(place.from * HASH_BYTES, place.to * HASH_BYTES);
      if (found.length < (place.to - place.from) * HASH_BYTES)
        throw new NotInTree(`tile ${keyOf(place)} of ${tree} ends early`);
      return rootOfComplete(found);
    };
    return subtrees.map((places) => joined(places.map(hashAt)));
  };

  const leaves: AuditTrees['leaves'] = async (tree, from, to) => {
    const { rows } = await db.query<EntriesRow>({ ...sql.entries, values: [tree, from, to] });
    const parts = rows.map(async (row) =>
      row.entries === null ? (row.leaves ?? []) : decodeEntries(await decompress(row.entries)),
    );
    return (await Promise.all(parts)).flat();
  };

  const size: AuditTrees['size'] = async (tree) => {
    const { rows } = await db.query<{ size: number }>({ ...sql.size, values: [tree] });
    return rows[0]?.size ?? 0;
  };

  return {
    size,
    sizeAt: (tree, time) => leavesAt(db, { leaves }, tree, time),
    latestUpTo: (tree, bundle) => latestUpTo(db, tree, bundle),
    search: (by) => searchLeaves(db, { size, leaves }, by),
    hashes,
    root: async (tree, size) => (await hashes(tree, [{ from: 0, to: size }]))[0] as Buffer,
    tile: async (tree, tile) => (await tilesOf(tree, [tile])).get(keyOf(tile)) ?? NOTHING,
    leaves,
    unsigned: async (limit) => (await db.query<UnsignedTree>({ ...sql.unsigned, values: [limit] })).rows,
    checkpoints: async ({ tree, below = Number.MAX_SAFE_INTEGER, limit }) => {
      const values = [tree, below, limit];
      return (await db.query<StoredCheckpoint>({ ...sql.checkpoints, values })).rows;
    },
    state: async (tree) => (await db.query<StoredState>({ ...sql.state, values: [tree] })).rows[0] ?? null,
    foreign: async (limit) => (await db.query<ForeignLeaf>({ ...sql.foreign, values: [limit] })).rows,
    disputed: async () => (await db.query<{ trees: number }>(sql.disputed)).rows[0]?.trees ?? 0,
    uncosigned: async ({ signatory, without, limit }) => {
      const values = [signatory, without, limit];
      return (await db.query<UncosignedCheckpoint>({ ...sql.uncosigned, values })).rows;
    },
    ...createFinder(db, { leaves }, schema),
  };
};

/** Checkpoints of the audit trees as the log holds them. */

export type CheckpointSignedEvent = RecordedEvent<Extract<AuditEvent, { readonly type: 'CheckpointSigned' }>>;
export type CheckpointCosignedEvent = RecordedEvent<Extract<AuditEvent, { readonly type: 'CheckpointCosigned' }>>;

export const isSigned = (event: RecordedEvent): event is CheckpointSignedEvent => event.type === 'CheckpointSigned';
export const isCosigned = (event: RecordedEvent): event is CheckpointCosignedEvent =>
  event.type === 'CheckpointCosigned';

/** How much of a tree is signed. */
export interface SignedPart {
  /** Leaves that its last checkpoint is about. */
  readonly signedSize: number;
  /** Leaves up to the last one that is not about checkpoints itself: those are no reason for another. */
  readonly grownTo: number;
  /** A witness contradicts it. */
  readonly disputed: boolean;
}

/** @param events the next ones of a tree of `size` leaves. */
export const signedAfter = (before: SignedPart, size: number, events: readonly RecordedEvent[]): SignedPart => {
  const last = events.findLast(isSigned);
  const grown = events.findLastIndex(
    ({ stream, type }) => categoryOf(stream) !== CATEGORIES.audit || type === 'AuditReopened',
  );
  const opened = events.findLast(({ type }) => type === 'AuditDisputed' || type === 'AuditReopened');
  return {
    signedSize: last?.data.size ?? before.signedSize,
    grownTo: grown === -1 ? before.grownTo : size + grown + 1,
    disputed: opened === undefined ? before.disputed : opened.type === 'AuditDisputed',
  };
};

/** The log is not the one that was signed: leaves before a checkpoint were changed, taken out or added. */
export class ChangedLog extends Error {
  override readonly name = 'ChangedLog';
}

const insertCheckpoints = rowsInto<{ tree: string; size: number; note: string; vkey: string; signedAt: string }>(
  'audit_checkpoints',
  {
    tree: 'tree',
    size: 'size',
    note: 'note',
    vkey: 'vkey',
    signed_at: 'signedAt',
  },
);

const ADD_COSIGNATURES = {
  name: 'audit-add-cosignatures',
  text: `
    update audit_checkpoints set cosignatures = cosignatures || $3, cosigners = cosigners || $4::text[]
    where tree = $1 and size = $2`,
};

/**
 * Keeps checkpoints of the log, each of which must be of this very tree: a rebuild from a log that was changed never
 * goes live.
 */
export const putCheckpoints = async (db: Database, events: readonly RecordedEvent[]): Promise<void> => {
  const signed = events.filter(isSigned);
  const trees = createAuditTrees(db, '');
  for (const event of signed) {
    const root = (await trees.root(treeOf(event), event.data.size)).toString('base64');
    if (root === event.data.root) continue;
    throw new ChangedLog(`the log does not hold the ${event.data.size} leaves of ${treeOf(event)} that were signed`);
  }
  const rows = signed.map((event) => {
    const { size, note, vkey } = event.data;
    return { tree: treeOf(event), size, note, vkey, signedAt: event.metadata.occurredAt };
  });
  await insertCheckpoints(db, rows);
  for (const event of events.filter(isCosigned)) {
    const { size, lines } = event.data;
    const text = lines.map((line) => `${line}\n`).join('');
    await db.query({ ...ADD_COSIGNATURES, values: [treeOf(event), size, text, lines.map(signatoryOf)] });
  }
};
