import { cosignersOf, isQuorum, readCheckpoint } from '../../../domain/audit/verifier/checkpoints.ts';
import { categoryOf, type RecordedEvent } from '../../../domain/kernel/event-store.ts';
import { CATEGORIES } from '../../../domain/kernel/streams.ts';
import type { Database } from '../../../lib/projections/projections.ts';
import {
  checkpointText,
  MalformedNote,
  type Note,
  type Policy,
  parseNote,
  parseVerifierKey,
  signatoryOf,
  signedAt,
  signedNote,
} from '../../../lib/transparency/transparency.ts';
import type { CheckpointCosignedEvent, CheckpointSignedEvent } from '../tree.ts';
import type { AgreedTree } from './agreed.ts';
import { type LogTree, rootAt, storedCheckpoint } from './rows.ts';

/**
 * Anchors of a tree: roots that another party vouches for. Everything else that a check compares, the log,
 * the rows and the signatures, can be made anew by an intruder who has the database and `SECRET_KEY`. An anchor is a
 * checkpoint that a quorum of witnesses has cosigned, or one that the operator kept in a file.
 */

/** A checkpoint that was kept outside the service. */
export interface KeptCheckpoint {
  /** Its file. */
  readonly name: string;
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
  readonly note: Note;
}

/** @returns null: the text is not a signed checkpoint. */
export const keptCheckpoint = (name: string, text: string): KeptCheckpoint | null => {
  const signed = readCheckpoint(text);
  return signed === null ? null : { name, note: signed.note, ...signed.checkpoint };
};

/** How long signing and cosigning may take. Shorter reports a slow witness; longer leaves changes unnoticed. */
const LATE_MS = 3_600_000;

/** How much of a tree is anchored. */
export interface AnchorCoverage {
  /** Its first leaves that an anchor covers. */
  readonly size: number;
  /** Names of the witnesses and files that cover them. */
  readonly by: ReadonlySet<string>;
}

interface Watch {
  readonly policy: Policy;
  readonly kept: readonly KeptCheckpoint[];
  /** The state at which the last check ended. Absent: the log is read from its start. */
  readonly since?: AgreedTree['anchors'] | undefined;
}

/** Tree of an origin: `<host>/v1/audit/tlog/<tree>`, after a reopening with a number. */
export const treeOfOrigin = (origin: string): string | undefined =>
  /\/tlog\/(?<tree>[^/]+)(?:\/\d+)?$/.exec(origin)?.groups?.tree;

/** A policy without witnesses requires none, so it anchors nothing. */
const isWitnessed = (policy: Policy, names: ReadonlySet<string>): boolean =>
  names.size > 0 && isQuorum({ policy, count: null }, names);

/** Since when leaves after some size wait for cosignatures. */
const waitingSince = (newest: AgreedTree['anchors']['newest'], size: number): string | null =>
  newest !== null && newest.size > size ? newest.at : null;

const FROM_START: AgreedTree['anchors'] = {
  size: 0,
  by: [],
  cosigned: { size: 0, names: [] },
  newest: null,
  uncosignedSince: null,
  unsignedSince: null,
};

/** @param vkey as the log has it, which may have been changed. */
const isSignedBy = (note: Note, vkey: string): boolean => {
  try {
    return signedAt(note, parseVerifierKey(vkey)) !== null;
  } catch (error) {
    if (error instanceof MalformedNote) return false;
    throw error;
  }
};

/** Follows one tree while a check reads the log. */
export const watchAnchors = ({ tree }: Pick<LogTree, 'tree'>, { policy, kept, since = FROM_START }: Watch) => {
  const own = kept.filter(({ origin }) => treeOfOrigin(origin) === tree);
  /** Whether the log has the root of a kept checkpoint. Absent: the log has fewer leaves. */
  const isSame = new Map<KeptCheckpoint, boolean>();
  const keys: string[] = [];
  const isSigned = ({ note }: KeptCheckpoint): boolean => keys.some((key) => isSignedBy(note, key));
  const compare = (each: KeptCheckpoint, log: Pick<LogTree, 'size' | 'rootAt'>): void => {
    if (each.size === log.size) isSame.set(each, log.rootAt(each.size)?.equals(each.root) === true);
  };
  const by = new Set<string>(since.by);
  let anchored = since.size;
  /** Witnesses of the newest checkpoint that has cosignatures. */
  let cosigned = { size: since.cosigned.size, names: new Set<string>(since.cosigned.names) };
  let { newest, uncosignedSince, unsignedSince } = since;

  const cover = (size: number, names: Iterable<string>): void => {
    anchored = Math.max(anchored, size);
    for (const name of names) by.add(name);
  };

  return {
    /** @param log the leaves up to this event. */
    add: (event: RecordedEvent, log: Pick<LogTree, 'size' | 'rootAt'>): void => {
      if (categoryOf(event.stream) !== CATEGORIES.audit) unsignedSince ??= event.metadata.occurredAt;
      if (event.type === 'AuditKeyAdded') keys.push(event.data.vkey);
      for (const each of own) compare(each, log);
    },
    /**
     * Compares kept checkpoints with the whole log, whose keys have signed them: others prove nothing.
     * @returns faults.
     */
    compareKept: ({ size }: Pick<LogTree, 'size'>): readonly string[] => {
      const signed = own.filter(isSigned);
      const same = signed.filter((each) => isSame.get(each) === true);
      for (const each of same) cover(each.size, [each.name]);
      return signed
        .filter((each) => !same.includes(each))
        .map((each) =>
          each.size > size
            ? `${each.name} covers ${each.size} leaves of ${tree}, but the log has only ${size}: its end was cut off, or it was restored from a backup. Keep the file as evidence (docs/audit.md, After a restore)`
            : `${each.name} has a different root for the first ${each.size} leaves of ${tree}: the log was rewritten or restored from a backup. Keep the file as evidence`,
        );
    },
    signed: ({ data, metadata }: CheckpointSignedEvent): void => {
      newest = { size: data.size, at: metadata.occurredAt };
      uncosignedSince ??= newest.at;
      unsignedSince = null;
    },
    /** @param names known witnesses whose cosignatures of a checkpoint are valid. */
    cosigned: (size: number, names: Iterable<string>): void => {
      if (size < cosigned.size) return;
      const before = size === cosigned.size ? cosigned.names : [];
      cosigned = { size, names: new Set([...before, ...names]) };
      if (!isWitnessed(policy, cosigned.names)) return;
      cover(size, cosigned.names);
      uncosignedSince = waitingSince(newest, size);
    },
    anchored: (): AnchorCoverage => ({ size: anchored, by }),
    /** For the next check, which begins here. */
    state: (): AgreedTree['anchors'] => ({
      size: anchored,
      by: [...by],
      cosigned: { size: cosigned.size, names: [...cosigned.names] },
      newest,
      uncosignedSince,
      unsignedSince,
    }),
    /** Why leaves of the tree could not be verified. @param isDisputed signing has stopped because of a witness, which is a fault. */
    doubts: (now: Date, isDisputed: boolean): readonly string[] => {
      const isLate = (since: string | null): boolean => since !== null && Date.parse(since) < now.getTime() - LATE_MS;
      return [
        ...(isLate(unsignedSince) && !isDisputed
          ? [`${tree}: nothing after leaf ${newest?.size ?? 0} is signed: the log of the service says why`]
          : []),
        ...(policy.witnesses.size > 0 && isLate(uncosignedSince)
          ? [`${tree}: the witnesses have not cosigned its checkpoints since ${uncosignedSince}`]
          : []),
        ...own
          .filter((each) => !isSigned(each))
          .map(({ name }) => `${name} is not signed by a key of ${tree}: the file is damaged, or of another log`),
      ];
    },
  };
};

export type AnchorWatch = ReturnType<typeof watchAnchors>;

/** A row without all lines. */
const cosignedRowFault = async (
  db: Database,
  tree: string,
  { size, lines }: CheckpointCosignedEvent['data'],
): Promise<string | null> => {
  const row = await storedCheckpoint(db, tree, size);
  if (row === null) return `no checkpoint covers ${size} leaves`;
  const kept = row.cosignatures.split('\n');
  const isThere = (line: string): boolean => kept.includes(line) && row.cosigners.includes(signatoryOf(line));
  return lines.every(isThere) ? null : `it is missing from the row of its checkpoint of ${size} leaves`;
};

interface CosignatureParts {
  readonly policy: Policy;
  readonly anchors: AnchorWatch;
}

const forgedFault = async (
  db: Database,
  log: Pick<LogTree, 'tree' | 'rootAt'>,
  data: CheckpointCosignedEvent['data'],
  { policy, anchors }: CosignatureParts,
): Promise<string | null> => {
  const { origin, size, lines } = data;
  const root = await rootAt(db, log, size);
  if (root === null) return null;
  const text = checkpointText({ origin, size, root });
  const verified = lines.map((line) => ({
    line,
    ...cosignersOf(parseNote(signedNote(text, [`${line}\n`])), policy.witnesses),
  }));
  const forgeries = verified.filter(({ forged }) => forged.length > 0).map(({ line }) => signatoryOf(line));
  if (forgeries.length > 0) return `${forgeries.join(', ')} did not cosign the first ${size} leaves of the log`;
  anchors.cosigned(
    size,
    verified.flatMap(({ times }) => [...times.keys()]),
  );
  return null;
};

/** Fault of cosignatures. Without one, they become an anchor. @param log the leaves before them. @param isRead the projection has read them. */
export const cosignatureFault = async (
  db: Database,
  log: Pick<LogTree, 'tree' | 'rootAt' | 'size'>,
  data: CheckpointCosignedEvent['data'],
  { isRead, ...parts }: CosignatureParts & { readonly isRead: boolean },
): Promise<string | null> => {
  try {
    if (data.size > log.size) return `it covers ${data.size} leaves, but only ${log.size} precede it`;
    const fault = await forgedFault(db, log, data, parts);
    return fault ?? (isRead ? await cosignedRowFault(db, log.tree, data) : null);
  } catch (error) {
    if (error instanceof MalformedNote) return `one of its lines cannot be read: ${error.message}`;
    throw error;
  }
};
