import { parseLeaf } from '../../../domain/audit/leaf.ts';
import type { EventStore, Position } from '../../../domain/kernel/event-store.ts';
import type { Database } from '../../../lib/projections/projections.ts';
import { HASH_BYTES, leafHash, type Policy, policyText } from '../../../lib/transparency/transparency.ts';
import { TILE_WIDTH } from '../tiles.ts';
import { createLogTree, type LogLeaf, type LogTree, storedBundle, storedTile, type TreesAt } from './rows.ts';

/**
 * Up to where a check found that log and trees agree. The next check begins there, so a later change of what is before
 * that place is noticed only by a check that reads everything.
 */

export interface AgreedTree {
  readonly tree: string;
  readonly size: number;
  /** base64. The rows must still lead to it. */
  readonly root: string;
  readonly latest: string;
  readonly latestInBundles: string;
  readonly signedSize: number;
  readonly grownTo: number;
  /** How much of its checkpoints was counted. */
  readonly counted: { readonly checkpoints: number; readonly cosignedBytes: number };
  readonly anchors: {
    readonly size: number;
    readonly by: readonly string[];
    readonly cosigned: { readonly size: number; readonly names: readonly string[] };
    readonly newest: { readonly size: number; readonly at: string } | null;
    /** ISO 8601. */
    readonly uncosignedSince: string | null;
    readonly unsignedSince: string | null;
  };
}

export interface Agreed {
  /** Version of this record. */
  readonly format: typeof AGREED_FORMAT;
  /** When that check began, and when the last one that read everything did. ISO 8601. */
  readonly at: string;
  readonly fullAt: string;
  readonly logId: string;
  /** Version of the projection. */
  readonly version: number;
  readonly policy: string;
  readonly position: string;
  readonly trees: readonly AgreedTree[];
}

/** Raised when the record changes: a check does not begin at a record of another format. */
export const AGREED_FORMAT = 1;

/** Keeps where the last check ended, sealed under a key that is not in the database. */
export interface CheckNotes {
  /** null: no check has ended without faults. `falsified`: it was changed, or sealed under a key that is not available. */
  read(): Promise<Agreed | 'falsified' | null>;
  /** @param agreed null: the next check reads everything. */
  write(agreed: Agreed | null): Promise<void>;
}

/** Trees as they were where the last check ended. */
interface Resumed {
  readonly agreed: Agreed;
  readonly logs: ReadonlyMap<string, LogTree>;
}

/** @returns its last leaves, which are in no full bundle; null: they cannot be read. */
const pendingOf = async (db: Database, { tree, size }: AgreedTree): Promise<readonly LogLeaf[] | null> => {
  const count = size % TILE_WIDTH;
  if (count === 0) return [];
  const stored = await storedBundle(db, tree, Math.floor(size / TILE_WIDTH));
  if (stored === null || stored.leaves.length < count) return null;
  try {
    return stored.leaves.slice(0, count).map((text, at) => {
      const { id, type, stream, revision } = parseLeaf(text);
      const position = stored.positions[at] ?? stored.full?.firstPosition ?? '';
      return { id, type, stream, revision, position: position as Position, hash: leafHash(text) };
    });
  } catch {
    return null;
  }
};

/** @returns the last tile of each level above the leaves, and how many full ones precede it; null: one is not there. */
const edgeOf = async (db: Database, { tree, size }: AgreedTree) => {
  const above: Buffer[] = [];
  const counts: number[] = [];
  for (let level = 1, hashes = Math.floor(size / TILE_WIDTH); hashes > 0; level += 1) {
    const tile = Math.floor(hashes / TILE_WIDTH);
    const bytes = (hashes % TILE_WIDTH) * HASH_BYTES;
    const stored = bytes === 0 ? Buffer.alloc(0) : await storedTile(db, tree, { level, tile });
    if (stored === null || stored.length < bytes) return null;
    above.push(stored.subarray(0, bytes));
    counts.push(tile);
    hashes = tile;
  }
  return { above, counts };
};

/** @returns null: its rows do not lead to the root that the check found. */
const resumedLog = async (db: Database, agreed: AgreedTree): Promise<LogTree | null> => {
  const pending = await pendingOf(db, agreed);
  const edge = await edgeOf(db, agreed);
  if (pending === null || edge === null) return null;
  const { tree, size, latest, latestInBundles, signedSize, grownTo } = agreed;
  const signed = { signedSize, grownTo, disputed: false };
  const log = createLogTree(tree, { size, latest, latestInBundles, signed, pending, ...edge });
  return log.rootAt(size)?.toString('base64') === agreed.root ? log : null;
};

export interface ChooseBegin {
  readonly db: Database;
  readonly store: Pick<EventStore, 'logId'>;
  readonly policy: Policy;
  readonly system: { now(): Date };
  /** For a check of all trees. Absent: everything is read, and nothing is kept. */
  readonly notes?: CheckNotes | undefined;
  /** Everything is read if that was done longer ago. 0: always. Absent: only if there is no note. */
  readonly fullAfterMs?: number | undefined;
}

/** The place where a check begins. */
export interface Begin {
  /** null: at the start of the log. */
  readonly resumed: Resumed | null;
  /** The note was changed. */
  readonly fault: string | null;
  /** The trees are not those of the last check, which matters if nothing else says so. */
  readonly contradiction: string | null;
}

const START: Begin = { resumed: null, fault: null, contradiction: null };

const FALSIFIED =
  'the record of where the last check ended was changed in the database, or sealed under another SECRET_KEY. This check read everything instead. Find out who could write to the vault';

const contradictionOf = ({ at }: Agreed, { tree, size }: AgreedTree): string =>
  `${tree}: its first ${size} leaves do not have the root that the check of ${at} found: the log and its audit tree were changed together since then. Compare both with a backup of that time`;

const resume = async (db: Database, agreed: Agreed): Promise<Begin> => {
  const logs = new Map<string, LogTree>();
  for (const each of agreed.trees) {
    const log = await resumedLog(db, each);
    if (log === null) return { ...START, contradiction: contradictionOf(agreed, each) };
    logs.set(each.tree, log);
  }
  return { ...START, resumed: { agreed, logs } };
};

/** True if the note is about these trees: not after a copy of the log, a rebuild that is not done, or with other witnesses. */
const isAbout = async (agreed: Agreed, { store, policy }: ChooseBegin, at: TreesAt): Promise<boolean> =>
  agreed.logId === (await store.logId()) &&
  agreed.version === at.version &&
  agreed.position <= at.position &&
  agreed.policy === policyText(policy);

export const chooseBegin = async (options: ChooseBegin, at: TreesAt): Promise<Begin> => {
  const { db, notes, system, fullAfterMs = Number.POSITIVE_INFINITY } = options;
  if (notes === undefined || fullAfterMs === 0) return START;
  const agreed = await notes.read();
  if (agreed === 'falsified') return { ...START, fault: FALSIFIED };
  if (agreed === null || !(await isAbout(agreed, options, at))) return START;
  if (system.now().getTime() - Date.parse(agreed.fullAt) >= fullAfterMs) return START;
  return resume(db, agreed);
};

/** A tree for the note. @param log up to the position that the projection has read to. */
export const agreedTree = (log: LogTree, parts: Pick<AgreedTree, 'counted' | 'anchors'>): AgreedTree => {
  const { tree, size, latest, latestInBundles, signed } = log;
  const root = log.rootAt(size)?.toString('base64') ?? '';
  const { signedSize, grownTo } = signed;
  return { tree, size, root, latest, latestInBundles, signedSize, grownTo, ...parts };
};

interface EndedCheck {
  readonly begunAt: Date;
  readonly begin: Begin;
  readonly verdict: 'no fault' | 'consistent' | 'faults' | 'undecided';
  readonly trees: readonly AgreedTree[];
}

/**
 * Keeps where a check ended. After faults, checks read everything until one finds no fault, so that a fault before that
 * place is not forgotten. An undecided check changes nothing.
 */
export const noteEnd = async (
  { notes, policy }: Pick<ChooseBegin, 'notes' | 'policy'>,
  { position, logId, version }: TreesAt,
  { begunAt, begin, verdict, trees }: EndedCheck,
): Promise<void> => {
  if (notes === undefined || verdict === 'undecided') return;
  if (verdict === 'faults') return notes.write(null);
  const at = begunAt.toISOString();
  const fullAt = begin.resumed?.agreed.fullAt ?? at;
  await notes.write({ format: AGREED_FORMAT, at, fullAt, logId, version, policy: policyText(policy), position, trees });
};
