import { type Leaf, leafOf, parseLeaf } from '../../../domain/audit/leaf.ts';
import type { EventStore, StreamName } from '../../../domain/kernel/event-store.ts';
import { leafHash, rootOfComplete } from '../../../lib/transparency/transparency.ts';
import { foundBy } from '../projection.ts';
import { TILE_WIDTH } from '../tiles.ts';
import type { LogLeaf } from './log-tree.ts';
import type { StoredBundle } from './rows.ts';

/** The leaves of a bundle, or those of them that the log has so far. */
export interface LogBundle {
  readonly tree: string;
  readonly first: number;
  readonly leaves: readonly LogLeaf[];
  /** Latest time of the leaves up to its last one. */
  readonly latest: string;
}

export interface ComparedBundle {
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
  if (event?.id !== leaf.id) return 'stream or revision differ';
  const own = parseLeaf(leafOf(event));
  const names = MEMBERS.filter((member) => JSON.stringify(own[member]) !== JSON.stringify(leaf[member]));
  return `${names.join(' and ')} differ${names.length === 1 ? 's' : ''}`;
};

const shiftSentence = (pair: Pair, next: Pair | undefined): string => {
  const inLog = pair.leaf.id;
  const inTree = pair.stored?.id ?? '';
  if (next?.stored?.id === inLog) return `the log does not hold event ${inTree} of the tree`;
  if (next?.leaf.id === inTree) return `the tree does not hold event ${inLog} of the log`;
  return `the log holds event ${inLog}, and the tree event ${inTree}`;
};

const sentenceOf = async (
  store: Pick<EventStore, 'readStream'>,
  pair: Pair,
  { next, bundle }: { readonly next: Pair | undefined; readonly bundle: StoredBundle },
): Promise<string> => {
  const { stored } = pair;
  if (stored === null) return 'the text in the tree is no event';
  if (isShift(pair)) return `${shiftSentence(pair, next)}; leaves behind it were not compared`;
  const difference = await differenceOf(store, stored);
  return `${isTextChanged(bundle) ? 'its text in the tree is not the one that was hashed' : 'the log says another than the tree'}: ${difference}`;
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
    : [`bundle ${first / TILE_WIDTH} of ${tree}: its row has another ${wrong.join(' and ')} than its leaves`];
};

const positionFaults = ({ tree, first, leaves }: LogBundle, { positions, full }: StoredBundle): readonly string[] => {
  const at = full === null ? leaves.findIndex(({ position }, index) => position !== positions[index]) : -1;
  return at === -1 ? [] : [`leaf ${first + at} of ${tree}, event ${leaves[at]?.id}: its row has another position`];
};

/** @param stored null: nothing of it can be read. */
export const compareBundle = async (
  store: Pick<EventStore, 'readStream'>,
  bundle: LogBundle,
  stored: StoredBundle | null,
): Promise<ComparedBundle> => {
  const { tree, first, leaves } = bundle;
  const isThere = stored !== null && (leaves.length < TILE_WIDTH || stored.full !== null);
  const count = isThere ? stored.leaves.length : 0;
  if (stored === null || count < leaves.length) {
    const range = `leaves ${first} to ${first + leaves.length - 1}`;
    const fault = `bundle ${first / TILE_WIDTH} of ${tree}: the log has ${range}, and ${count} of them can be read here`;
    return { faults: [fault], isShifted: false };
  }
  const compared = await leafFaults(store, bundle, stored);
  if (compared.faults.length > 0) return compared;
  return { faults: [...searchFaults(bundle, stored), ...positionFaults(bundle, stored)], isShifted: false };
};
