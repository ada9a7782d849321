import type { EventStore } from '../../../domain/kernel/event-store.ts';
import { HASH_BYTES, type VerifierKey } from '../../../lib/transparency/transparency.ts';
import type { Database } from '../../database.ts';
import type { Tree } from '../projection.ts';
import type { CheckpointCosignedEvent, CheckpointSignedEvent } from '../signed-checkpoints.ts';
import { TILE_WIDTH } from '../tiles.ts';
import { compareBundle } from './compare-bundle.ts';
import { cosignatureFault, noteFault, rootFault, rowFault } from './compare-checkpoint.ts';
import type { FullTile, LogTree } from './log-tree.ts';
import { type Surplus, storedBundle, storedTile, surplusOf } from './rows.ts';

/** Compares one tree as the log makes it with its rows. */
export interface TreeComparison {
  /** Compares the bundle that is full now, and begins the next. */
  bundle(): Promise<void>;
  /** A checkpoint of the log, which is the next leaf. @param isRead the projection has read it. */
  checkpoint(event: CheckpointSignedEvent, isRead: boolean): Promise<void>;
  /** Cosignatures of the log, which are the next leaf. @param isRead the projection has read it. */
  cosignatures(event: CheckpointCosignedEvent, isRead: boolean): Promise<void>;
  /** Compares the rest, at the position that the projection has read to. @param row undefined: absent. */
  end(row: Tree | undefined): Promise<void>;
}

export interface CompareTree {
  readonly db: Database;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly witnesses: readonly VerifierKey[];
  /** Takes a sentence. */
  onFault(sentence: string): void;
}

const tileFault = async (db: Database, tree: string, { level, tile, hashes }: FullTile): Promise<string | null> => {
  const stored = await storedTile(db, tree, { level, tile });
  if (stored?.subarray(0, hashes.length).equals(hashes) === true) return null;
  const at = hashes.findIndex((byte, index) => stored?.[index] !== byte);
  return `tile ${tile} of level ${level} of ${tree}: hash ${Math.floor(at / HASH_BYTES)} is missing or another`;
};

const rowFaults = (row: Tree, log: LogTree): readonly string[] => {
  if (row.size !== log.size) return [`${log.tree}: its row says ${row.size} leaves, and the log has ${log.size}`];
  const expected = { ...log.signed, latest: log.latestInBundles };
  return (['signedSize', 'grownTo', 'disputed', 'latest'] as const)
    .filter((column) => row[column] !== expected[column])
    .map((column) => `${log.tree}: its row says ${column} ${row[column]}, and the log ${expected[column]}`);
};

/** Counts of checkpoints in the log. */
interface CheckpointCounts {
  readonly checkpoints: number;
  readonly cosignedBytes: number;
}

const surplusFaults = (tree: string, log: CheckpointCounts, surplus: Surplus): readonly string[] => {
  const counted = [
    ['bundles', surplus.bundles],
    ['leaves in the tail', surplus.tail],
    ['tiles of another length', surplus.tiles],
  ] as const;
  const faults = counted
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${tree}: ${count} ${what} that a tree of its size does not have`);
  if (surplus.checkpointSize !== null)
    faults.push(`${tree}: audit_checkpoints has one about ${surplus.checkpointSize} leaves, which was never signed`);
  if (surplus.checkpoints > log.checkpoints)
    faults.push(`${tree}: audit_checkpoints has ${surplus.checkpoints} of it, and the log ${log.checkpoints}`);
  if (surplus.cosignedBytes > log.cosignedBytes)
    faults.push(`${tree}: audit_checkpoints has cosignatures that are not in the log`);
  return faults;
};

export const createTreeComparison = (log: LogTree, { db, store, witnesses, onFault }: CompareTree): TreeComparison => {
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
    if (size > log.size) return `there are only ${log.size} leaves before it, and it is about ${size}`;
    const fault = await rootFault(db, log, event.data);
    isContradicted = fault !== null;
    return fault;
  };

  const endRow = async (row: Tree): Promise<void> => {
    rowFaults(row, log).map(onFault);
    await compareLeaves();
    await compareTiles(log.openTiles());
    const surplus = row.size === log.size ? await surplusOf(db, tree, log.signed.signedSize) : null;
    if (surplus !== null) surplusFaults(tree, counted, surplus).map(onFault);
  };

  return {
    bundle: async () => {
      await compareLeaves();
      await compareTiles(log.closeBundle());
    },
    checkpoint: async (event, isRead) => {
      if (isRead) counted.checkpoints += 1;
      const found = [noteFault(event.data), await compareRoot(event), isRead ? await rowFault(db, tree, event) : null];
      found
        .filter((fault) => fault !== null)
        .map((fault) => onFault(`the checkpoint at leaf ${log.size} of ${tree}, event ${event.id}: ${fault}`));
    },
    cosignatures: async ({ id, data }, isRead) => {
      if (isRead) counted.cosignedBytes += data.lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
      if (isContradicted) return;
      const fault = await cosignatureFault(db, log, data, { witnesses, isRead });
      if (fault !== null) onFault(`the cosignature at leaf ${log.size} of ${tree}, event ${id}: ${fault}`);
    },
    end: async (row) => {
      if (row !== undefined) return endRow(row);
      onFault(`${tree} has no row in audit_trees, and the log has ${log.size} events of it`);
    },
  };
};
