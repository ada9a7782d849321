import { type Leaf, leafOf, parseLeaf } from '../../../domain/audit/leaf.ts';
import type { EventStore, RecordedEvent, Seals, StreamName } from '../../../domain/kernel/event-store.ts';
import type { Database } from '../../../lib/projections/projections.ts';
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
import { foundBy } from '../projection.ts';
import { TILE_WIDTH } from '../tiles.ts';
import type { CheckpointCosignedEvent, CheckpointSignedEvent } from '../tree.ts';
import { type AnchorWatch, cosignatureFault } from './anchors.ts';
import { changedValues, type Finding } from './findings.ts';
import {
  type FullTile,
  type LogLeaf,
  type LogTree,
  rootAt,
  type StoredBundle,
  type Surplus,
  stateFindings,
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
  readonly findings: readonly Finding[];
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

const isShift = (pair: Pair): pair is Pair & { readonly stored: Leaf } =>
  pair.stored !== null && pair.stored.id !== pair.leaf.id;

/** The log and the tree have the same event here, so that nothing before it is missing or was inserted. */
const isInPlace = (pair: Pair | undefined): boolean => pair?.stored?.id === pair?.leaf.id && pair !== undefined;

const MEMBERS = ['stream', 'revision', 'type', 'data', 'metadata'] as const satisfies readonly (keyof Leaf)[];

type ReadLog = Pick<EventStore, 'readStream' | 'isAuthentic' | 'seals'>;

const eventOf = async (log: ReadLog, { stream, revision, id }: LogLeaf): Promise<RecordedEvent | undefined> => {
  const [event] = await log.readStream(stream as StreamName, { from: revision, limit: 1 });
  return event?.id === id ? event : undefined;
};

/** The tree has another event here. The next leaves show why. */
const shiftOf = ({ leaf, stored }: Pair & { readonly stored: Leaf }, next: Pair | undefined) => {
  if (next?.stored?.id === leaf.id) return { kind: 'missing', event: stored } as const;
  if (next?.leaf.id === stored.id) return { kind: 'inserted', event: leaf } as const;
  return { kind: 'replaced', event: leaf, inTree: stored } as const;
};

const changeOf = async (log: ReadLog, pair: Pair, bundle: StoredBundle) => {
  const event = await eventOf(log, pair.leaf);
  const { isAuthentic } = log;
  const own = event === undefined ? null : parseLeaf(leafOf(event));
  const values = MEMBERS.flatMap((member) => changedValues(pair.stored?.[member], own?.[member], member));
  return {
    kind: 'changed' as const,
    event: pair.leaf,
    values,
    isTextChanged: isTextChanged(bundle) || pair.stored === null,
    isAuthentic: isAuthentic === undefined || event === undefined ? null : isAuthentic(event),
  };
};

/** The rows hold other events than those whose hashes are in the tile above. */
const otherTexts = ({ tree, first }: LogBundle, at: number): Finding => ({
  kind: 'table',
  sentence: `bundle ${first / TILE_WIDTH} of ${tree}: from leaf ${first + at} on its row in audit_bundles has other events than the log, which do not fit their hashes. The log is right: that row was changed from outside the service`,
});

/** @returns the finding about a leaf that differs, and whether the next leaves can be compared. */
const leafFinding = async (
  log: ReadLog,
  { own, bundle }: { readonly own: LogBundle; readonly bundle: StoredBundle },
  { pair, next, at }: { readonly pair: Pair; readonly next: Pair | undefined; readonly at: number },
): Promise<{ readonly finding: Finding; readonly end: null | 'shifted' | 'other texts' }> => {
  const place = { tree: own.tree, leaf: own.first + at };
  if (!isShift(pair)) return { finding: { ...place, ...(await changeOf(log, pair, bundle)) }, end: null };
  if (isTextChanged(bundle)) return { finding: otherTexts(own, at), end: 'other texts' };
  return { finding: { ...place, ...shiftOf(pair, next) }, end: isInPlace(next) ? null : 'shifted' };
};

const leafFindings = async (log: ReadLog, own: LogBundle, bundle: StoredBundle): Promise<ComparedBundle> => {
  const pairs = pairsOf(own, bundle);
  const findings: Finding[] = [];
  for (const [at, pair] of pairs.entries()) {
    if (isSame(pair)) continue;
    const { finding, end } = await leafFinding(log, { own, bundle }, { pair, next: pairs[at + 1], at });
    findings.push(finding);
    if (end !== null) return { findings, isShifted: end === 'shifted' };
  }
  return { findings, isShifted: false };
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
const compareBundle = async (log: ReadLog, bundle: LogBundle, stored: StoredBundle | null): Promise<ComparedBundle> => {
  const { tree, first, leaves } = bundle;
  const isThere = stored !== null && (leaves.length < TILE_WIDTH || stored.full !== null);
  const count = isThere ? stored.leaves.length : 0;
  if (stored === null || count < leaves.length) {
    const range = `leaves ${first} to ${first + leaves.length - 1}`;
    const sentence = `bundle ${first / TILE_WIDTH} of ${tree}: the log has ${range}, but only ${count} of them can be read from the tree`;
    return { findings: [{ kind: 'table', sentence }], isShifted: false };
  }
  const compared = await leafFindings(log, bundle, stored);
  if (compared.findings.length > 0) return compared;
  const sentences = [...searchFaults(bundle, stored), ...positionFaults(bundle, stored)];
  return { findings: sentences.map((sentence) => ({ kind: 'table', sentence })), isShifted: false };
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

/** A changed checkpoint is one finding, also if several things are wrong with it. Another root follows from a changed event. */
const checkpointFinding = (
  { size, tree }: Pick<LogTree, 'size' | 'tree'>,
  { id }: CheckpointSignedEvent,
  faults: { readonly own: readonly (string | null)[]; readonly root: string | null },
): Finding | null => {
  const own = faults.own.filter((fault) => fault !== null);
  const all = faults.root === null ? own : [...own, faults.root];
  const sentence = `the checkpoint at leaf ${size} of ${tree}, event ${id}: ${all.join('; ')}`;
  if (own.length > 0) return { kind: 'table', sentence };
  return all.length === 0 ? null : { kind: 'follows', tree, ofTable: false, sentence };
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
  counted(): CheckpointCounts;
}

interface CompareTree {
  readonly db: Database;
  readonly store: ReadLog;
  readonly policy: Policy;
  readonly anchors: AnchorWatch;
  /** Counts of the last check. Absent: the log is read from its start. */
  readonly since?: CheckpointCounts | undefined;
  onFault(finding: Finding): void;
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

const rowFindings = (row: TreeRow, log: LogTree, seals: Seals | undefined): readonly Finding[] => [
  ...rowFaults(row, log).map((sentence): Finding => ({ kind: 'follows', tree: log.tree, ofTable: true, sentence })),
  ...stateFindings(row, log, seals),
];

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
  { db, store, policy, anchors, since = { checkpoints: 0, cosignedBytes: 0 }, onFault }: CompareTree,
): TreeComparison => {
  const { tree } = log;
  let isShifted = false;
  /** Every later checkpoint would be named. */
  let isContradicted = false;
  const counted = { ...since };

  const compareLeaves = async (): Promise<void> => {
    const { pending: leaves, size, latest } = log;
    if (isShifted || leaves.length === 0) return;
    const first = size - leaves.length;
    const stored = await storedBundle(db, tree, first / TILE_WIDTH);
    const compared = await compareBundle(store, { tree, first, leaves, latest }, stored);
    isShifted = compared.isShifted;
    compared.findings.map(onFault);
  };

  const compareTiles = async (tiles: readonly FullTile[]): Promise<void> => {
    if (isShifted) return;
    for (const tile of tiles) {
      const fault = await tileFault(db, tree, tile);
      if (fault !== null) onFault({ kind: 'follows', tree, ofTable: true, sentence: fault });
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

  /** The first leaf of the tree behind the end of the log: its event was removed. */
  const compareEnd = async (row: TreeRow): Promise<void> => {
    if (isShifted || row.size <= log.size) return;
    const stored = await storedBundle(db, tree, Math.floor(log.size / TILE_WIDTH));
    const text = stored?.leaves[log.size % TILE_WIDTH];
    const event = text === undefined ? null : leafIn(text);
    if (event !== null) onFault({ kind: 'missing', tree, leaf: log.size, event });
  };

  const endRow = async (row: TreeRow): Promise<void> => {
    rowFindings(row, log, store.seals).map(onFault);
    await compareLeaves();
    await compareEnd(row);
    await compareTiles(log.openTiles());
    const surplus = row.size === log.size ? await surplusOf(db, tree, log.signed.signedSize) : null;
    if (surplus === null) return;
    for (const sentence of surplusFaults(tree, counted, { ...surplus, cosignedBytes: row.cosignedBytes }))
      onFault({ kind: 'table', sentence });
  };

  return {
    counted: () => ({ ...counted }),
    bundle: async () => {
      await compareLeaves();
      await compareTiles(log.closeBundle());
    },
    checkpoint: async (event, isRead) => {
      if (isRead) counted.checkpoints += 1;
      anchors.signed(event);
      const found = [noteFault(event.data), isRead ? await rowFault(db, tree, event) : null];
      const finding = checkpointFinding(log, event, { own: found, root: await compareRoot(event) });
      if (finding !== null) onFault(finding);
    },
    cosignatures: async ({ id, data }, isRead) => {
      if (isRead) counted.cosignedBytes += data.lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
      if (isContradicted) return;
      const fault = await cosignatureFault(db, log, data, { policy, anchors, isRead });
      const sentence = `the cosignature at leaf ${log.size} of ${tree}, event ${id}: ${fault}`;
      if (fault !== null) onFault({ kind: 'follows', tree, ofTable: false, sentence });
    },
    end: async (row) => {
      if (row !== undefined) return endRow(row);
      const sentence = `${tree}: audit_trees has no row, but the log has ${log.size} events of this tree`;
      onFault({ kind: 'table', sentence });
    },
  };
};
