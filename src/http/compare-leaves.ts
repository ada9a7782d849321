import type { CommandContext } from '../commands/execute.ts';
import { requireWritten } from '../commands/foreign-events.ts';
import { type Leaf, leafOf } from '../domain/audit/leaf.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import { EventsDetached, type RecordedEvent, type StreamName } from '../domain/kernel/event-store.ts';
import { mapConcurrently } from '../lib/async/async.ts';
import {
  canonicalJson,
  isConsistent,
  leafHash,
  parseCheckpoint,
  parseNote,
  rootOfInclusion,
} from '../lib/transparency/transparency.ts';

/**
 * Leaves of the audit trees are copies of events in tables of the database. An intruder with the database can change a copy,
 * so what is read from one is compared with the log. Proofs are made from the same tables: one that does not lead to the signed
 * root is not returned. Exports and tiles are not compared: verifiers judge them, and name each leaf that was changed.
 */

interface FoundLeaf {
  readonly index: number;
  readonly parsed: Leaf;
}

/**
 * The event of which a leaf is a copy.
 * @throws {DomainError} `unavailable`: they differ. {EventsDetached}
 */
export const eventOfLeaf = async (
  { store }: Pick<CommandContext, 'store'>,
  { index, parsed }: FoundLeaf,
): Promise<RecordedEvent> => {
  const { id, stream, revision } = parsed;
  const [event] = await store.readStream(stream as StreamName, { from: revision, limit: 1 });
  if (event !== undefined && leafOf(event) === canonicalJson(parsed)) return event;
  throw new DomainError(
    'unavailable',
    `leaf ${index} of the audit log, event ${id}, differs from the event in the log: the database was changed from outside the ` +
      'service, so it is not shown. Ask the operator to run `outbox audit check`',
  );
};

/** Leaves compared at once. More takes connections from other requests, fewer makes lists slower. */
const CONCURRENCY = 4;

/** Events of a detached part of the log cannot be compared. */
const noneIfDetached = (error: unknown): null => {
  if (error instanceof EventsDetached) return null;
  throw error;
};

/** @throws {DomainError} `unavailable`: a leaf differs from the log. {ForeignEvent} this service did not write the event. */
export const requireSameInLog = async (
  { store, system }: Pick<CommandContext, 'store' | 'system'>,
  leaves: readonly FoundLeaf[],
): Promise<void> => {
  const events = await mapConcurrently(leaves, { system, concurrency: CONCURRENCY }, (leaf) =>
    eventOfLeaf({ store }, leaf).catch(noneIfDetached),
  );
  await requireWritten(
    store,
    events.filter((event) => event !== null),
  );
};

const contradiction = (what: string): DomainError =>
  new DomainError(
    'unavailable',
    `${what}: the tables of the audit log were changed from outside the service, so the proof is not shown. Ask the operator ` +
      'to run `outbox audit check`',
  );

/** A leaf and its proof of inclusion in the tree of a signed note. @throws {DomainError} `unavailable`: it does not lead to its root. */
export const requireIncluded = (
  { index, leaf }: { readonly index: number; readonly leaf: string },
  hashes: readonly Buffer[],
  note: string,
): void => {
  const { size, root } = parseCheckpoint(parseNote(note).text);
  if (rootOfInclusion(index, size, leafHash(leaf), hashes)?.equals(root)) return;
  throw contradiction(`the proof of leaf ${index} of the audit log does not lead to the signed root of ${size} leaves`);
};

type SizedRoot = readonly [size: number, root: Buffer];

/** @throws {DomainError} `unavailable`: the proof does not lead from one root to the other. */
export const requireConsistent = (before: SizedRoot, after: SizedRoot, hashes: readonly Buffer[]): void => {
  if (isConsistent(before, after, hashes)) return;
  throw contradiction(
    `the proof does not lead from the root of ${before[0]} leaves of the audit log to that of ${after[0]}`,
  );
};
