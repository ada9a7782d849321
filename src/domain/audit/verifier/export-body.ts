import { hash } from 'node:crypto';
import { canonicalJson, leafHash, type VerifierKey } from '../../../lib/transparency/transparency.ts';
import { CATEGORIES } from '../../kernel/streams.ts';
import { BUNDLE_LEAVES, type ExportHashes, type ExportHeader, type Leaf, parseLeaf } from '../leaf.ts';
import {
  createGrowingTree,
  createInnerCheckpoints,
  createLogKeys,
  type EarlierCheckpoint,
  type Quorum,
} from './checkpoints.ts';
import { createDisclosureChecks, type Disclosure, differences, type Finding } from './disclosure.ts';

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
  if (event === null) return [`leaf ${leaf} is not an event in canonical JSON`];
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
    fault(`the hashes after leaf ${tree.size + leaves.length - 1} are missing`);
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
        fault(`found the hashes of tile ${tile} instead of those of tile ${tileNow()}`);
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

/** Consistency checks on the events of an export: ids are unique, and streams have no gaps. */

/** Parses the event of a leaf; null if the leaf is not an event. */
const eventOf = (text: string): Leaf | null => {
  try {
    const { data, id, metadata, revision, stream, type } = parseLeaf(text);
    const isEvent = [id, stream, type].every((each) => typeof each === 'string') && Number.isSafeInteger(revision);
    const leaf = { data, id, metadata, revision, stream, type };
    return isEvent && canonicalJson(leaf) === text ? leaf : null;
  } catch {
    return null;
  }
};

const wordsOf = (event: Leaf | null): string => {
  if (event === null) return 'something that is not an event in canonical JSON';
  const { id, type, stream, revision, metadata } = event;
  return `event ${id} (${type}, ${stream} revision ${revision}, ${metadata?.occurredAt})`;
};

interface EventChecks {
  /** Checks an event against those before it. @returns the problems found in it. */
  next(event: Leaf, leaf: number): readonly string[];
  /** Expected ids that were not found. */
  missing(): readonly string[];
}

/** The id by which people know a stream: `msg_…` of `message-msg_…`. */
const subjectOf = (stream: string): string => stream.slice(stream.indexOf('-') + 1);

/** Prefix of streams that all organizations share. Each organization's log contains only its own events of them. */
const SHARED = `${CATEGORIES.destination}-`;

const gapOf = (stream: string, from: number, to: number): string =>
  from === to
    ? `revision ${from} of ${stream} is not in the log`
    : `revisions ${from} to ${to} of ${stream} are not in the log`;

/**
 * @param isWhole whether the export starts with the log's first leaf; otherwise streams may start at any revision.
 * @param expected ids of events or of the subjects of streams.
 */
const createEventChecks = (isWhole: boolean, expected: Iterable<string>): EventChecks => {
  const ids = createFingerprints();
  const revisions = createFingerprints();
  const awaited = new Set(expected);

  const checkId = ({ id }: Leaf, leaf: number): readonly string[] => {
    const before = ids.get(id);
    if (before !== null) return [`event ${id} appears twice: at leaf ${before} and at leaf ${leaf}`];
    ids.set(id, leaf);
    return [];
  };

  const checkRevision = ({ stream, revision }: Leaf, leaf: number): readonly string[] => {
    const next = (revisions.get(stream) ?? (isWhole ? 0 : revision) - 1) + 1;
    if (revision < next) return [`leaf ${leaf}: revision ${revision} of ${stream} comes after revision ${next - 1}`];
    revisions.set(stream, revision);
    return revision > next && !stream.startsWith(SHARED) ? [gapOf(stream, next, revision - 1)] : [];
  };

  return {
    next: (event, leaf) => {
      awaited.delete(event.id);
      awaited.delete(subjectOf(event.stream));
      const repeated = checkId(event, leaf);
      return repeated.length > 0 ? repeated : checkRevision(event, leaf);
    },
    missing: () => [...awaited].map((id) => `${id} is missing from the log`),
  };
};

/**
 * Maps millions of texts to numbers, in 16 to 32 bytes each. A `Map` needs ten times that and is limited to 16.7
 * million entries. Texts are stored as 64 bits of their SHA-256: among 10 million texts, a collision happens once in
 * 370,000 logs.
 */
interface Fingerprints {
  /** Null if the text was not set. */
  get(text: string): number | null;
  /** Stores a number for the text. @param value from 0 to 2^32 - 2. */
  set(text: string, value: number): void;
}

const SLOTS_AT_FIRST = 1 << 12;
/** Higher: longer searches. Lower: more memory. */
const FILL_MAX = 0.75;

interface Table {
  readonly mask: number;
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  /** The value plus one; 0 if the slot is free. */
  readonly values: Uint32Array;
}

const tableOf = (slots: number): Table => ({
  mask: slots - 1,
  high: new Uint32Array(slots),
  low: new Uint32Array(slots),
  values: new Uint32Array(slots),
});

/** The slot of a key, or the free slot for it. */
const slotOf = ({ mask, high, low, values }: Table, a: number, b: number): number => {
  let slot = a & mask;
  while (values[slot] !== 0 && (high[slot] !== a || low[slot] !== b)) slot = (slot + 1) & mask;
  return slot;
};

const put = (table: Table, a: number, b: number, stored: number): boolean => {
  const slot = slotOf(table, a, b);
  const isNew = table.values[slot] === 0;
  table.high[slot] = a;
  table.low[slot] = b;
  table.values[slot] = stored;
  return isNew;
};

const doubled = (before: Table): Table => {
  const table = tableOf(2 * (before.mask + 1));
  for (const [slot, stored] of before.values.entries()) {
    if (stored !== 0) put(table, before.high[slot] as number, before.low[slot] as number, stored);
  }
  return table;
};

const createFingerprints = (): Fingerprints => {
  let table = tableOf(SLOTS_AT_FIRST);
  let count = 0;
  return {
    get: (text) => {
      const bytes = hash('sha256', text, 'buffer');
      const stored = table.values[slotOf(table, bytes.readUInt32LE(0), bytes.readUInt32LE(4))] as number;
      return stored === 0 ? null : stored - 1;
    },
    set: (text, value) => {
      const bytes = hash('sha256', text, 'buffer');
      if (put(table, bytes.readUInt32LE(0), bytes.readUInt32LE(4), value + 1)) count += 1;
      if (count > FILL_MAX * (table.mask + 1)) table = doubled(table);
    },
  };
};
