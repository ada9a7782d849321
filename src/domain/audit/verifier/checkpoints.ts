import {
  type Checkpoint,
  checkpointText,
  MalformedNote,
  meetsQuorum,
  type Note,
  type Policy,
  parseCheckpoint,
  parseNote,
  type VerifierKey,
} from '../../../lib/transparency/transparency.ts';
import type { Leaf } from '../leaf.ts';
import type { GrowingTree } from './growing-tree.ts';
import { type LogKeys, signatureBy } from './log-keys.ts';

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
export interface Reopening {
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

export interface InnerCheckpoints {
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
  if (size > leaf) return `is of ${size} leaves, which are not before it`;
  return size === data.size && root.toString('base64') === data.root ? null : 'says something else than its note';
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
    return forged.map((name) => `the cosignature of ${name} in leaf ${leaf} is of another tree`);
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
