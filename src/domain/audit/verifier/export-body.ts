import { leafHash, type VerifierKey } from '../../../lib/transparency/transparency.ts';
import { BUNDLE_LEAVES, type ExportHashes, type ExportHeader } from '../export-format.ts';
import { createInnerCheckpoints, type EarlierCheckpoint, type Quorum } from './checkpoints.ts';
import { differences, type Finding } from './compare-bundle.ts';
import type { Disclosure } from './disclosure.ts';
import { createDisclosureChecks } from './disclosure-checks.ts';
import { createEventChecks, eventOf, wordsOf } from './event-checks.ts';
import { createGrowingTree } from './growing-tree.ts';
import { createLogKeys } from './log-keys.ts';

/** Processes the leaves and hash lines of an export, adding one bundle at a time to the tree. */

export interface BodyOptions {
  /** Keys trusted from outside. Without any, the export can only be checked against itself. */
  readonly keys: readonly VerifierKey[];
  readonly quorum: Quorum;
  /** Checkpoints obtained earlier. */
  readonly since: readonly EarlierCheckpoint[];
  /** Ids that must be in the log: of events, or of the subjects of streams (`msg_…`). */
  readonly expected: Iterable<string>;
  /** Disclosures to check, at most one for each event. */
  readonly disclosures: readonly Disclosure[];
}

const partsOf = (header: ExportHeader, { keys: pinned, quorum, expected, disclosures: disclosed }: BodyOptions) => {
  const tree = createGrowingTree({ size: header.from, hashes: header.edge });
  const keys = createLogKeys(pinned);
  const inner = createInnerCheckpoints({ origin: header.origin, tree, keys, quorum });
  const events = createEventChecks(header.from === 0, expected);
  const disclosures = createDisclosureChecks(header, disclosed);
  return { header, tree, keys, inner, quorum, events, disclosures };
};
export type Parts = ReturnType<typeof partsOf>;

const sizesOf = (since: readonly EarlierCheckpoint[]): readonly number[] => [
  ...new Set(since.flatMap(({ signed }) => (signed === null ? [] : [signed.checkpoint.size]))),
];

const differencesOf = (start: number, leaves: readonly string[], found: Buffer, claimed: Buffer) => {
  if (claimed.equals(found)) return [];
  const described = leaves.map((text) => ({ words: wordsOf(eventOf(text)) }));
  return differences({ start, leaves: described, found, claimed });
};

const problemsOf = ({ events, inner, disclosures }: Parts, text: string, leaf: number): readonly string[] => {
  const event = eventOf(text);
  if (event === null) return [`leaf ${leaf} is no event in canonical JSON`];
  return [...events.next(event, leaf), ...inner.next(event, leaf), ...disclosures.next(event, leaf)];
};

export const createExportBody = (header: ExportHeader, options: BodyOptions, find: (finding: Finding) => void) => {
  const parts = partsOf(header, options);
  const { tree } = parts;
  const sizes = sizesOf(options.since);
  /** Roots at the sizes of earlier checkpoints, saved before later leaves evict them from memory. */
  const earlierRoots = new Map<number, Buffer>();
  let pending: string[] = [];

  const keepRoots = (): void => {
    for (const size of sizes) {
      const root = earlierRoots.get(size) ?? tree.rootAt(size);
      if (root !== null) earlierRoots.set(size, root);
    }
  };
  keepRoots();

  const fault = (sentence: string): void => find({ kind: 'fault', sentence });

  const close = (leaves: readonly string[], claimed: Buffer | null): void => {
    const start = tree.size;
    const found = Buffer.concat(leaves.map(leafHash));
    const hashes = claimed ?? found;
    differencesOf(start, leaves, found, hashes).map(find);
    tree.add(hashes, hashes.length === found.length ? found : null);
    keepRoots();
    leaves.flatMap((text, at) => problemsOf(parts, text, start + at)).map(fault);
  };

  const tileNow = (): number => Math.floor(tree.size / BUNDLE_LEAVES);

  /** Number of leaves that the next line of hashes covers. */
  const room = (): number =>
    Math.max(1, Math.min(BUNDLE_LEAVES - (tree.size % BUNDLE_LEAVES), header.size - tree.size));

  /** Closes a bundle whose line of hashes is missing. */
  const closeFirst = (): void => {
    const leaves = pending.splice(0, room());
    fault(`the hashes behind leaf ${tree.size + leaves.length - 1} are missing`);
    close(leaves, null);
  };

  /** Skips missing leaves if the pending leaves match the hashes of a later tile. */
  const skipTo = (tile: number, hashes: Buffer): void => {
    if (!Buffer.concat(pending.map(leafHash)).equals(hashes)) return;
    fault(`leaves ${tree.size} to ${tile * BUNDLE_LEAVES - 1} are missing`);
    tree.skip(tile * BUNDLE_LEAVES);
  };

  return {
    parts,
    earlierRoots,
    leaf: (text: string): void => {
      pending.push(text);
      if (pending.length > 2 * BUNDLE_LEAVES) closeFirst();
    },
    hashes: ({ tile, hashes }: ExportHashes): void => {
      if (tile > tileNow()) skipTo(tile, hashes);
      while (tile > tileNow() && pending.length >= room()) closeFirst();
      if (tile !== tileNow()) {
        fault(`the hashes of tile ${tile} stand where those of tile ${tileNow()} are expected`);
        return;
      }
      close(pending, hashes);
      pending = [];
    },
    /** Closes the remaining bundles. @returns the number of the last leaf. */
    flush: (): number => {
      while (pending.length > 0) closeFirst();
      return tree.size - 1;
    },
  };
};
