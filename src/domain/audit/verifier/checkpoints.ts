import {
  type Checkpoint,
  type CompactRange,
  checkpointText,
  extended,
  HASH_BYTES,
  joined,
  MalformedNote,
  meetsQuorum,
  type Note,
  type Policy,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  rootOfComplete,
  signedAt,
  subtreesOf,
  type VerifierKey,
} from '../../../lib/transparency/transparency.ts';
import { BUNDLE_LEAVES, type Leaf } from '../leaf.ts';

/** Compares checkpoints, from leaves and from elsewhere, with the recomputed tree. */

export interface SignedCheckpoint {
  readonly note: Note;
  readonly checkpoint: Checkpoint;
}

/** A checkpoint that was obtained before the export was made. */
export interface EarlierCheckpoint {
  /** File name. */
  readonly name: string;
  /** Null if the file is not a signed checkpoint. */
  readonly signed: SignedCheckpoint | null;
}

/** Parses a signed checkpoint; null if the text is not one. */
export const readCheckpoint = (text: string): SignedCheckpoint | null => {
  try {
    const note = parseNote(text);
    return { note, checkpoint: parseCheckpoint(note.text) };
  } catch (error) {
    if (error instanceof MalformedNote) return null;
    throw error;
  }
};

/** Witnesses that have cosigned a note, with their times in seconds, and witnesses whose signatures are forged. */
export const cosignersOf = (note: Note, witnesses: ReadonlyMap<string, VerifierKey>) => {
  const times = new Map<string, number>();
  const forged: string[] = [];
  for (const [name, key] of witnesses) {
    const signature = signatureBy(note, key);
    if (signature === 'forged') forged.push(name);
    else if (signature !== null) times.set(name, signature);
  }
  return { times, forged };
};

/** Required cosignatures: those of a policy, or of any `count` of its witnesses. */
export interface Quorum {
  readonly policy: Policy;
  readonly count: number | null;
}

export const isQuorum = ({ policy, count }: Quorum, cosigners: ReadonlySet<string>): boolean =>
  count === null ? meetsQuorum(policy, cosigners) : cosigners.size >= count;

const textIn = ({ data }: Leaf, member: string): string => {
  const value = data[member];
  return typeof value === 'string' ? value : '';
};

/** A continuation under another origin. Leaves signed before it may be missing from the log. */
interface Reopening {
  readonly leaf: number;
  readonly previousOrigin: string;
  /** Size of the last checkpoint of that origin whose leaves the log still has. */
  readonly kept: number;
  readonly reason: string;
}

/** Maximum number of reopenings that are listed. */
const REOPENINGS_MAX = 100;

const reopeningOf = (event: Leaf, leaf: number): Reopening => ({
  leaf,
  previousOrigin: textIn(event, 'previousOrigin'),
  kept: readCheckpoint(textIn(event, 'previous'))?.checkpoint.size ?? 0,
  reason: textIn(event, 'reason'),
});

interface InnerCheckpoints {
  /** Processes a checkpoint, a cosignature or a key event. @returns the problems found in it. */
  next(event: Leaf, leaf: number): readonly string[];
  /** The largest size for which a checkpoint of a trusted key has the recomputed root. */
  readonly verifiedUpTo: number;
  /** The smallest size for which a checkpoint of a trusted key has another root; infinity if none has. */
  readonly contradictedFrom: number;
  /** Number of checkpoints compared. */
  readonly count: number;
  readonly reopenings: readonly Reopening[];
  /** The largest size that a quorum of witnesses has cosigned. */
  readonly quorumUpTo: number;
}

interface Parts {
  readonly origin: string;
  readonly tree: GrowingTree;
  readonly keys: LogKeys;
  readonly quorum: Quorum;
}

const linesIn = ({ data }: Leaf): string =>
  Array.isArray(data.lines) ? data.lines.map((line) => `${String(line).trimEnd()}\n`).join('') : '';

/** The problem of a checkpoint in a leaf, or null. */
const problemOf = ({ data }: Leaf, { size, root }: Checkpoint, leaf: number): string | null => {
  if (size > leaf) return `covers ${size} leaves, more than precede it`;
  return size === data.size && root.toString('base64') === data.root ? null : 'does not match its own note';
};

export const createInnerCheckpoints = ({ origin, tree, keys, quorum }: Parts): InnerCheckpoints => {
  const reopenings: Reopening[] = [];
  let [verifiedUpTo, contradictedFrom, count, quorumUpTo] = [0, Number.POSITIVE_INFINITY, 0, 0];

  /** Compares the root. A checkpoint that matches vouches for the keys in the leaves before it. */
  const compare = ({ size, root }: Checkpoint, isTrusted: boolean): void => {
    const own = tree.rootAt(size);
    if (own === null || !isTrusted) return;
    count += 1;
    if (!own.equals(root)) {
      contradictedFrom = Math.min(contradictedFrom, size);
      return;
    }
    verifiedUpTo = Math.max(verifiedUpTo, size);
    keys.cover(size);
  };

  const checkSigned = (event: Leaf, leaf: number): readonly string[] => {
    const read = readCheckpoint(textIn(event, 'note'));
    const problem = read === null ? 'is malformed' : problemOf(event, read.checkpoint, leaf);
    if (read === null || problem !== null) return [`the checkpoint in leaf ${leaf} ${problem}`];
    const signed = keys.check(read.note, read.checkpoint.size);
    if (signed === 'forged') return [`the signature of the checkpoint in leaf ${leaf} is forged`];
    compare(read.checkpoint, signed === 'trusted');
    return [];
  };

  /** Origin of a cosignature's checkpoint. The log may have been reopened since. */
  const originIn = (event: Leaf): string => textIn(event, 'origin') || origin;

  const checkCosigned = (event: Leaf, leaf: number): readonly string[] => {
    const size = Number(event.data.size);
    const root = Number.isSafeInteger(size) ? tree.rootAt(size) : null;
    if (root === null) return [];
    const read = readCheckpoint(`${checkpointText({ origin: originIn(event), size, root })}\n${linesIn(event)}`);
    if (read === null) return [`the cosignatures in leaf ${leaf} are malformed`];
    const { times, forged } = cosignersOf(read.note, quorum.policy.witnesses);
    if (isQuorum(quorum, new Set(times.keys()))) quorumUpTo = Math.max(quorumUpTo, size);
    return forged.map((name) => `the cosignature of ${name} in leaf ${leaf} belongs to another tree`);
  };

  const noted = (note: (event: Leaf, leaf: number) => void) => (event: Leaf, leaf: number) => {
    note(event, leaf);
    return [];
  };

  const reopen = (event: Leaf, leaf: number): void => {
    if (reopenings.length < REOPENINGS_MAX) reopenings.push(reopeningOf(event, leaf));
  };

  const checks = new Map<string, (event: Leaf, leaf: number) => readonly string[]>([
    ['AuditKeyAdded', noted((event, leaf) => keys.add(textIn(event, 'vkey'), leaf))],
    ['AuditKeyRetired', noted((event, leaf) => keys.retire(textIn(event, 'vkey'), leaf))],
    ['AuditReopened', noted(reopen)],
    ['CheckpointSigned', checkSigned],
    ['CheckpointCosigned', checkCosigned],
  ]);

  return {
    next: (event, leaf) => checks.get(event.type)?.(event, leaf) ?? [],
    reopenings,
    get verifiedUpTo() {
      return verifiedUpTo;
    },
    get contradictedFrom() {
      return contradictedFrom;
    },
    get count() {
      return count;
    },
    get quorumUpTo() {
      return quorumUpTo;
    },
  };
};

/**
 * The keys that sign a log's checkpoints. The first ones are configured from outside. A later key is trusted once a
 * checkpoint of a trusted key covers the leaf that added it, and is no longer trusted for leaves after the one that
 * retired it.
 */

/** `unknown`: no trusted key has signed. `forged`: a line names a trusted key, but the signature is not by that key. */
type SignatureVerdict = 'trusted' | 'unknown' | 'forged';

interface LogKeys {
  /** Whether a key trusted at this size has signed. */
  check(note: Note, size: number): SignatureVerdict;
  /** Adds the key of a leaf. @param vkey as in the leaf; an invalid one is ignored. */
  add(vkey: string, leaf: number): void;
  retire(vkey: string, leaf: number): void;
  /** Trusts what the first `size` leaves say about keys: a checkpoint of a trusted key has their root. */
  cover(size: number): void;
  readonly trusted: readonly VerifierKey[];
}

interface AnnouncedKey {
  readonly key: VerifierKey;
  readonly leaf: number;
}

const keyOf = (vkey: string): VerifierKey | null => {
  try {
    return parseVerifierKey(vkey);
  } catch {
    return null;
  }
};

/** Whether a note has a signature line of this key. */
const isNamed = ({ signatures }: Note, { name, id }: VerifierKey): boolean =>
  signatures.some((signature) => signature.name === name && signature.id === id);

/** Verifies a key's signature on a note. @returns the time of a cosignature in seconds since 1970, or 0. */
const signatureBy = (note: Note, key: VerifierKey): number | 'forged' | null =>
  isNamed(note, key) ? (signedAt(note, key) ?? 'forged') : null;

export const createLogKeys = (pinned: readonly VerifierKey[]): LogKeys => {
  const trusted = new Map(pinned.map((key) => [key.text, key]));
  const retired = new Map<string, number>();
  let added: AnnouncedKey[] = [];
  let ended: AnnouncedKey[] = [];

  const announced = (vkey: string, leaf: number): readonly AnnouncedKey[] => {
    const key = keyOf(vkey);
    return key === null ? [] : [{ key, leaf }];
  };

  return {
    check: (note, size) => {
      const valid = [...trusted.values()].filter(({ text }) => size <= (retired.get(text) ?? Number.POSITIVE_INFINITY));
      const signatures = valid.map((key) => signatureBy(note, key));
      if (signatures.includes('forged')) return 'forged';
      return signatures.some((signature) => signature !== null) ? 'trusted' : 'unknown';
    },
    add: (vkey, leaf) => added.push(...announced(vkey, leaf)),
    retire: (vkey, leaf) => ended.push(...announced(vkey, leaf)),
    cover: (size) => {
      for (const { key } of added.filter(({ leaf }) => leaf < size)) trusted.set(key.text, key);
      for (const { key, leaf } of ended.filter((each) => each.leaf < size)) retired.set(key.text, leaf);
      added = added.filter(({ leaf }) => leaf >= size);
      ended = ended.filter(({ leaf }) => leaf >= size);
    },
    get trusted() {
      return [...trusted.values()];
    },
  };
};

/**
 * The tree of an export, built bundle by bundle in two versions: from the hashes that the export claims, and from the
 * recomputed leaf hashes. The versions are equal until something was changed. The one with the signed root is right.
 */

const LEVEL = Math.log2(BUNDLE_LEAVES);

/** Bundles inside which roots can still be computed. Takes 32 MB of hashes, for a million leaves. */
const BUNDLES_KEPT_MAX = 4_096;

interface BundleHashes {
  readonly before: CompactRange;
  readonly hashes: Buffer;
}

interface GrowingTree {
  /** Adds a bundle. @param recomputed null if its number of leaves differs from the claimed one. */
  add(claimed: Buffer, recomputed: Buffer | null): void;
  /** Continues at a later leaf. The root is wrong from here on. */
  skip(to: number): void;
  /** Leaves in the tree, including those before the export. */
  readonly size: number;
  /**
   * Root of the first `size` leaves; null if they end before the export, are no longer in memory, or are not complete
   * yet.
   */
  rootAt(size: number): Buffer | null;
  /** Root of the recomputed hashes; null if they are incomplete. */
  recomputedRoot(): Buffer | null;
}

const hashesIn = (hashes: Buffer): number => hashes.length / HASH_BYTES;

const extendedByLeaves = (range: CompactRange, hashes: Buffer, count: number): CompactRange => {
  let after = range;
  for (let at = 0; at < count; at += 1) {
    after = extended(after, hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES));
  }
  return after;
};

const extendedByBundle = (range: CompactRange, hashes: Buffer): CompactRange =>
  hashesIn(hashes) === BUNDLE_LEAVES && range.size % BUNDLE_LEAVES === 0
    ? extended(range, rootOfComplete(hashes), LEVEL)
    : extendedByLeaves(range, hashes, hashesIn(hashes));

/** @param edge the leaves before the export. */
export const createGrowingTree = (edge: CompactRange): GrowingTree => {
  let claimed = edge;
  let recomputed: CompactRange | null = edge;
  const kept: BundleHashes[] = [];

  const grow = (hashes: Buffer, own: Buffer | null): void => {
    const before = claimed;
    claimed = extendedByBundle(before, hashes);
    if (recomputed === null || own === null) recomputed = null;
    else if (recomputed === before && own.equals(hashes)) recomputed = claimed;
    else recomputed = extendedByBundle(recomputed, own);
  };

  return {
    add: (hashes, own) => {
      kept.push({ before: claimed, hashes });
      if (kept.length > BUNDLES_KEPT_MAX) kept.shift();
      grow(hashes, own);
    },
    skip: (to) => {
      claimed = { size: to, hashes: subtreesOf({ from: 0, to }).map(() => Buffer.alloc(HASH_BYTES)) };
      recomputed = null;
      kept.length = 0;
    },
    get size() {
      return claimed.size;
    },
    rootAt: (size) => {
      if (size === claimed.size) return joined(claimed.hashes);
      const bundle = kept.findLast(({ before }) => before.size <= size);
      if (bundle === undefined || size > claimed.size) return null;
      return joined(extendedByLeaves(bundle.before, bundle.hashes, size - bundle.before.size).hashes);
    },
    recomputedRoot: () => (recomputed === null ? null : joined(recomputed.hashes)),
  };
};
