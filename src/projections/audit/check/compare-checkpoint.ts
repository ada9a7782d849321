import { NotInTree } from '../../../domain/ports/requests.ts';
import {
  checkpointText,
  MalformedNote,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  signatoryOf,
  signedAt,
  signedNote,
  type VerifierKey,
} from '../../../lib/transparency/transparency.ts';
import type { Database } from '../../database.ts';
import type { CheckpointCosignedEvent, CheckpointSignedEvent } from '../signed-checkpoints.ts';
import { createAuditTrees } from '../tree.ts';
import type { LogTree } from './log-tree.ts';
import { storedCheckpoint } from './rows.ts';

/** Faults of a checkpoint of the log or its cosignatures, in words that follow its name; null: none. */

/** A checkpoint with its parsed note and its signer. */
export const noteFault = ({ size, root, note, vkey, origin }: CheckpointSignedEvent['data']): string | null => {
  try {
    const parsed = parseNote(note);
    const said = parseCheckpoint(parsed.text);
    const isSaid = said.size === size && said.origin === origin && said.root.toString('base64') === root;
    if (!isSaid) return 'its note says another size, root or origin';
    return signedAt(parsed, parseVerifierKey(vkey)) === null ? 'its note is not signed by its key' : null;
  } catch (error) {
    if (error instanceof MalformedNote) return `its note cannot be read: ${error.message}`;
    throw error;
  }
};

const rootInRows = async (db: Database, tree: string, size: number): Promise<Buffer | null> => {
  try {
    return await createAuditTrees(db).root(tree, size);
  } catch (error) {
    if (error instanceof NotInTree) return null;
    throw error;
  }
};

const rootAt = async (db: Database, log: Pick<LogTree, 'tree' | 'rootAt'>, size: number): Promise<Buffer | null> =>
  log.rootAt(size) ?? (await rootInRows(db, log.tree, size));

/** With its root. @param log the leaves before it. */
export const rootFault = async (
  db: Database,
  log: Pick<LogTree, 'tree' | 'rootAt'>,
  { size, root }: CheckpointSignedEvent['data'],
): Promise<string | null> => {
  // Rows of earlier bundles were compared with the log before.
  const own = await rootAt(db, log, size);
  return own === null || own.toString('base64') === root
    ? null
    : `the first ${size} leaves of the log have another root; later checkpoints were not compared`;
};

/** With its row. */
export const rowFault = async (
  db: Database,
  tree: string,
  { data, metadata }: CheckpointSignedEvent,
): Promise<string | null> => {
  const row = await storedCheckpoint(db, tree, data.size);
  if (row === null) return 'it has no row in audit_checkpoints';
  const isSame = row.note === data.note && row.vkey === data.vkey && row.signedAt === metadata.occurredAt;
  return isSame ? null : 'its row in audit_checkpoints says another';
};

/** Whether the witness of a line has signed the text, where its key is known. */
const isForged = (text: string, line: string, witnesses: readonly VerifierKey[]): boolean => {
  const signatory = `${signatoryOf(line)}+`;
  const key = witnesses.find((witness) => witness.text.startsWith(signatory));
  return key !== undefined && signedAt(parseNote(signedNote(text, [`${line}\n`])), key) === null;
};

/** A row without all lines. */
const cosignedRowFault = async (
  db: Database,
  tree: string,
  { size, lines }: CheckpointCosignedEvent['data'],
): Promise<string | null> => {
  const row = await storedCheckpoint(db, tree, size);
  if (row === null) return `there is no checkpoint about ${size} leaves`;
  const kept = row.cosignatures.split('\n');
  const isThere = (line: string): boolean => kept.includes(line) && row.cosigners.includes(signatoryOf(line));
  return lines.every(isThere) ? null : `it is not in the row of its checkpoint, about ${size} leaves`;
};

const forgedFault = async (
  db: Database,
  log: Pick<LogTree, 'tree' | 'rootAt'>,
  { origin, size, lines }: CheckpointCosignedEvent['data'],
  witnesses: readonly VerifierKey[],
): Promise<string | null> => {
  const root = await rootAt(db, log, size);
  if (root === null) return null;
  const text = checkpointText({ origin, size, root });
  const forged = lines.filter((line) => isForged(text, line, witnesses)).map(signatoryOf);
  return forged.length === 0 ? null : `${forged.join(', ')} did not cosign the first ${size} leaves of the log`;
};

/** Fault of cosignatures. @param log the leaves before them. @param isRead the projection has read them. */
export const cosignatureFault = async (
  db: Database,
  log: Pick<LogTree, 'tree' | 'rootAt' | 'size'>,
  data: CheckpointCosignedEvent['data'],
  { witnesses, isRead }: { readonly witnesses: readonly VerifierKey[]; readonly isRead: boolean },
): Promise<string | null> => {
  try {
    if (data.size > log.size) return `it is about ${data.size} leaves, and there are ${log.size} before it`;
    const fault = await forgedFault(db, log, data, witnesses);
    return fault ?? (isRead ? await cosignedRowFault(db, log.tree, data) : null);
  } catch (error) {
    if (error instanceof MalformedNote) return `a line of it cannot be read: ${error.message}`;
    throw error;
  }
};
