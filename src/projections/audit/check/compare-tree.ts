import { type Leaf, leafOf, parseLeaf } from '../../../domain/audit/leaf.ts';
import type { EventStore, StreamName } from '../../../domain/kernel/event-store.ts';
import {
  HASH_BYTES,
  leafHash,
  MalformedNote,
  type Policy,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  rootOfComplete,
  signedAt,
} from '../../../lib/transparency/transparency.ts';
import type { Database } from '../../database.ts';
import { foundBy } from '../projection.ts';
import { TILE_WIDTH } from '../tiles.ts';
import type { CheckpointCosignedEvent, CheckpointSignedEvent } from '../tree.ts';
import { type AnchorWatch, cosignatureFault } from './anchors.ts';
import {
  type FullTile,
  type LogLeaf,
  type LogTree,
  rootAt,
  type StoredBundle,
  type Surplus,
  storedBundle,
  storedCheckpoint,
  storedTile,
  surplusOf,
  type TreeRow,
} from './rows.ts';

/** The leaves of a bundle, or those of them that the log has so far. */
interface LogBundle {
  readonly tree: string;
  readonly first: number;
  readonly leaves: readonly LogLeaf[];
  /** Latest time of the leaves up to its last one. */
  readonly latest: string;
}

interface ComparedBundle {
  readonly faults: readonly string[];
  /** From some leaf on, the tree contains other events than the log, so all later leaves would differ too. */
  readonly isShifted: boolean;
}

/** A leaf as the log has it, and as the tree has it. */
interface Pair {
  readonly leaf: LogLeaf;
  readonly text: string;
  /** null: the text is not an event. */
  readonly stored: Leaf | null;
}

const leafIn = (text: string): Leaf | null => {
  try {
    return parseLeaf(text);
  } catch {
    return null;
  }
};

const pairsOf = ({ leaves }: LogBundle, { leaves: texts }: StoredBundle): readonly Pair[] =>
  leaves.map((leaf, at) => {
    const text = texts[at] ?? '';
    return { leaf, text, stored: leafIn(text) };
  });

const isSame = ({ leaf, text }: Pair): boolean => leafHash(text).equals(leaf.hash);

/** True if its texts do not match the tile above. The tail has no such tile, so it cannot be checked. */
const isTextChanged = ({ leaves, full }: StoredBundle): boolean => {
  if (full === null || leaves.length !== TILE_WIDTH) return full !== null;
  return full.root?.equals(rootOfComplete(Buffer.concat(leaves.map(leafHash)))) !== true;
};

const isShift = ({ leaf, stored }: Pair): boolean => stored !== null && stored.id !== leaf.id;

const MEMBERS = ['stream', 'revision', 'type', 'data', 'metadata'] as const satisfies readonly (keyof Leaf)[];

/** Member in which the event of the log differs from the leaf of the tree. */
const differenceOf = async (store: Pick<EventStore, 'readStream'>, leaf: Leaf): Promise<string> => {
  const [event] = await store.readStream(leaf.stream as StreamName, { from: leaf.revision, limit: 1 });
  if (event?.id !== leaf.id) return 'stream or revision differs';
  const own = parseLeaf(leafOf(event));
  const names = MEMBERS.filter((member) => JSON.stringify(own[member]) !== JSON.stringify(leaf[member]));
  return `${names.join(' and ')} differ${names.length === 1 ? 's' : ''}`;
};

const shiftSentence = (pair: Pair, next: Pair | undefined): string => {
  const inLog = pair.leaf.id;
  const inTree = pair.stored?.id ?? '';
  if (next?.stored?.id === inLog) return `event ${inTree} of the tree is not in the log`;
  if (next?.leaf.id === inTree) return `event ${inLog} of the log is not in the tree`;
  return `the log has event ${inLog} here, but the tree has event ${inTree}`;
};

const sentenceOf = async (
  store: Pick<EventStore, 'readStream'>,
  pair: Pair,
  { next, bundle }: { readonly next: Pair | undefined; readonly bundle: StoredBundle },
): Promise<string> => {
  const { stored } = pair;
  if (stored === null) return 'the text in the tree is not an event';
  if (isShift(pair)) return `${shiftSentence(pair, next)}; later leaves were not compared`;
  const difference = await differenceOf(store, stored);
  return `${isTextChanged(bundle) ? 'its text in the tree was changed after it was hashed' : 'the log and the tree differ'}: ${difference}`;
};

const leafFaults = async (
  store: Pick<EventStore, 'readStream'>,
  log: LogBundle,
  bundle: StoredBundle,
): Promise<ComparedBundle> => {
  const { tree, first } = log;
  const pairs = pairsOf(log, bundle);
  const faults: string[] = [];
  for (const [at, pair] of pairs.entries()) {
    if (isSame(pair)) continue;
    faults.push(
      `leaf ${first + at} of ${tree}, event ${pair.leaf.id}: ${await sentenceOf(store, pair, { next: pairs[at + 1], bundle })}`,
    );
    if (isShift(pair)) return { faults, isShifted: true };
  }
  return { faults, isShifted: false };
};

/** Checks the values by which searches find a bundle. If they are changed, searches miss its events. */
const searchFaults = ({ tree, first, leaves, latest }: LogBundle, { leaves: texts, full }: StoredBundle) => {
  if (full === null || leaves.length < TILE_WIDTH) return [];
  const expected = { ...foundBy(texts.map(parseLeaf)), firstPosition: leaves[0]?.position, latest };
  const wrong = (['idFrom', 'idTo', 'facets', 'firstPosition', 'latest'] as const).filter(
    (column) => String(full[column]) !== String(expected[column]),
  );
  return wrong.length === 0
    ? []
    : [`bundle ${first / TILE_WIDTH} of ${tree}: its row and its leaves have different ${wrong.join(' and ')}`];
};

const positionFaults = ({ tree, first, leaves }: LogBundle, { positions, full }: StoredBundle): readonly string[] => {
  const at = full === null ? leaves.findIndex(({ position }, index) => position !== positions[index]) : -1;
  return at === -1 ? [] : [`leaf ${first + at} of ${tree}, event ${leaves[at]?.id}: its row has a different position`];
};

/** @param stored null: nothing of it can be read. */
const compareBundle = async (
  store: Pick<EventStore, 'readStream'>,
  bundle: LogBundle,
  stored: StoredBundle | null,
): Promise<ComparedBundle> => {
  const { tree, first, leaves } = bundle;
  const isThere = stored !== null && (leaves.length < TILE_WIDTH || stored.full !== null);
  const count = isThere ? stored.leaves.length : 0;
  if (stored === null || count < leaves.length) {
    const range = `leaves ${first} to ${first + leaves.length - 1}`;
    const fault = `bundle ${first / TILE_WIDTH} of ${tree}: the log has ${range}, but only ${count} of them can be read from the tree`;
    return { faults: [fault], isShifted: false };
  }
  const compared = await leafFaults(store, bundle, stored);
  if (compared.faults.length > 0) return compared;
  return { faults: [...searchFaults(bundle, stored), ...positionFaults(bundle, stored)], isShifted: false };
};

/** Faults of a checkpoint of the log, in words that follow its name; null: none. */

/** A checkpoint with its parsed note and its signer. */
const noteFault = ({ size, root, note, vkey, origin }: CheckpointSignedEvent['data']): string | null => {
  try {
    const parsed = parseNote(note);
    const said = parseCheckpoint(parsed.text);
    const isSaid = said.size === size && said.origin === origin && said.root.toString('base64') === root;
    if (!isSaid) return 'its note has a different size, root or origin';
    return signedAt(parsed, parseVerifierKey(vkey)) === null ? 'its note is not signed by its key' : null;
  } catch (error) {
    if (error instanceof MalformedNote) return `its note cannot be read: ${error.message}`;
    throw error;
  }
};

/** With its root. @param log the leaves before it. */
const rootFault = async (
  db: Database,
  log: Pick<LogTree, 'tree' | 'rootAt'>,
  { size, root }: CheckpointSignedEvent['data'],
): Promise<string | null> => {
  // Rows of earlier bundles were compared with the log before.
  const own = await rootAt(db, log, size);
  return own === null || own.toString('base64') === root
    ? null
    : `the first ${size} leaves of the log have a different root; later checkpoints were not compared`;
};

/** With its row. */
const rowFault = async (
  db: Database,
  tree: string,
  { data, metadata }: CheckpointSignedEvent,
): Promise<string | null> => {
  const row = await storedCheckpoint(db, tree, data.size);
  if (row === null) return 'audit_checkpoints has no row for it';
  const isSame = row.note === data.note && row.vkey === data.vkey && row.signedAt === metadata.occurredAt;
  return isSame ? null : 'its row in audit_checkpoints differs';
};

/** Compares one tree as the log makes it with its rows. */
export interface TreeComparison {
  /** Compares the bundle that is full now, and begins the next. */
  bundle(): Promise<void>;
  /** A checkpoint of the log, which is the next leaf. @param isRead the projection has read it. */
  checkpoint(event: CheckpointSignedEvent, isRead: boolean): Promise<void>;
  /** Cosignatures of the log, which are the next leaf. @param isRead the projection has read it. */
  cosignatures(event: CheckpointCosignedEvent, isRead: boolean): Promise<void>;
  /** Compares the rest, at the position that the projection has read to. @param row undefined: absent. */
  end(row: TreeRow | undefined): Promise<void>;
}

interface CompareTree {
  readonly db: Database;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly policy: Policy;
  readonly anchors: AnchorWatch;
  /** Takes a sentence. */
  onFault(sentence: string): void;
}

const tileFault = async (db: Database, tree: string, { level, tile, hashes }: FullTile): Promise<string | null> => {
  const stored = await storedTile(db, tree, { level, tile });
  if (stored?.subarray(0, hashes.length).equals(hashes) === true) return null;
  const at = hashes.findIndex((byte, index) => stored?.[index] !== byte);
  return `tile ${tile} of level ${level} of ${tree}: hash ${Math.floor(at / HASH_BYTES)} is missing or differs`;
};

const rowFaults = (row: TreeRow, log: LogTree): readonly string[] => {
  if (row.size !== log.size) return [`${log.tree}: its row says ${row.size} leaves, but the log has ${log.size}`];
  const expected = { ...log.signed, latest: log.latestInBundles };
  return (['signedSize', 'grownTo', 'disputed', 'latest'] as const)
    .filter((column) => row[column] !== expected[column])
    .map((column) => `${log.tree}: its row says ${column} ${row[column]}, but the log says ${expected[column]}`);
};

/** Counts of checkpoints in the log. */
interface CheckpointCounts {
  readonly checkpoints: number;
  readonly cosignedBytes: number;
}

const surplusFaults = (
  tree: string,
  log: CheckpointCounts,
  surplus: Surplus & Pick<TreeRow, 'cosignedBytes'>,
): readonly string[] => {
  const counted = [
    ['bundles', surplus.bundles],
    ['leaves in the tail', surplus.tail],
    ['tiles of the wrong length', surplus.tiles],
  ] as const;
  const faults = counted
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${tree}: ${count} ${what} too many for a tree of its size`);
  if (surplus.checkpointSize !== null)
    faults.push(
      `${tree}: audit_checkpoints has a checkpoint of ${surplus.checkpointSize} leaves that was never signed`,
    );
  if (surplus.checkpoints > log.checkpoints)
    faults.push(
      `${tree}: audit_checkpoints has ${surplus.checkpoints} checkpoints, but the log has ${log.checkpoints}`,
    );
  if (surplus.cosignedBytes > log.cosignedBytes)
    faults.push(`${tree}: audit_checkpoints has cosignatures that are not in the log`);
  return faults;
};

export const createTreeComparison = (
  log: LogTree,
  { db, store, policy, anchors, onFault }: CompareTree,
): TreeComparison => {
  const { tree } = log;
  let isShifted = false;
  /** Every later checkpoint would be named. */
  let isContradicted = false;
  const counted = { checkpoints: 0, cosignedBytes: 0 };

  const compareLeaves = async (): Promise<void> => {
    const { pending: leaves, size, latest } = log;
    if (isShifted || leaves.length === 0) return;
    const first = size - leaves.length;
    const stored = await storedBundle(db, tree, first / TILE_WIDTH);
    const compared = await compareBundle(store, { tree, first, leaves, latest }, stored);
    isShifted = compared.isShifted;
    compared.faults.map(onFault);
  };

  const compareTiles = async (tiles: readonly FullTile[]): Promise<void> => {
    if (isShifted) return;
    for (const tile of tiles) {
      const fault = await tileFault(db, tree, tile);
      if (fault !== null) onFault(fault);
    }
  };

  const compareRoot = async (event: CheckpointSignedEvent): Promise<string | null> => {
    const { size } = event.data;
    if (isContradicted) return null;
    if (size > log.size) return `it covers ${size} leaves, but only ${log.size} precede it`;
    const fault = await rootFault(db, log, event.data);
    isContradicted = fault !== null;
    return fault;
  };

  const endRow = async (row: TreeRow): Promise<void> => {
    rowFaults(row, log).map(onFault);
    await compareLeaves();
    await compareTiles(log.openTiles());
    const surplus = row.size === log.size ? await surplusOf(db, tree, log.signed.signedSize) : null;
    if (surplus !== null) surplusFaults(tree, counted, { ...surplus, cosignedBytes: row.cosignedBytes }).map(onFault);
  };

  return {
    bundle: async () => {
      await compareLeaves();
      await compareTiles(log.closeBundle());
    },
    checkpoint: async (event, isRead) => {
      if (isRead) counted.checkpoints += 1;
      anchors.signed(event);
      const found = [noteFault(event.data), await compareRoot(event), isRead ? await rowFault(db, tree, event) : null];
      found
        .filter((fault) => fault !== null)
        .map((fault) => onFault(`the checkpoint at leaf ${log.size} of ${tree}, event ${event.id}: ${fault}`));
    },
    cosignatures: async ({ id, data }, isRead) => {
      if (isRead) counted.cosignedBytes += data.lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
      if (isContradicted) return;
      const fault = await cosignatureFault(db, log, data, { policy, anchors, isRead });
      if (fault !== null) onFault(`the cosignature at leaf ${log.size} of ${tree}, event ${id}: ${fault}`);
    },
    end: async (row) => {
      if (row !== undefined) return endRow(row);
      onFault(`${tree}: audit_trees has no row, but the log has ${log.size} events of this tree`);
    },
  };
};
