import { leafOf } from '../../../domain/audit/leaf.ts';
import type { Position, RecordedEvent } from '../../../domain/kernel/event-store.ts';
import { completeRoots, HASH_BYTES, joined, leafHash, rootOfComplete } from '../../../lib/transparency/transparency.ts';
import { type SignedPart, signedAfter } from '../signed-checkpoints.ts';
import { TILE_WIDTH } from '../tiles.ts';

/** A leaf as the log has it. */
export interface LogLeaf {
  readonly id: string;
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

const NOTHING = Buffer.alloc(0);

export const createLogTree = (tree: string): LogTree => {
  let pending: LogLeaf[] = [];
  /** Hashes of the last tile of level 1, 2, … */
  const above: Buffer[] = [];
  const counts: number[] = [];
  const signed = { signedSize: 0, grownTo: 0, disputed: false };
  const state = { size: 0, latest: '', latestInBundles: '', signed };

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
      pending.push({ id: event.id, position: event.position, hash: leafHash(leafOf(event)) });
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
