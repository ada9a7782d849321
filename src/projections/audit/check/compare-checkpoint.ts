import {
  MalformedNote,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  signedAt,
} from '../../../domain/audit/signed-note.ts';
import { NotInTree } from '../../../domain/ports/audit-trees.ts';
import type { Database } from '../../database.ts';
import type { Signed } from '../signed-checkpoints.ts';
import { createAuditTrees } from '../tree.ts';
import type { LogTree } from './log-tree.ts';
import { storedCheckpoint } from './rows.ts';

/** What is wrong with a checkpoint of the log, in words that follow its name; null: nothing. */

/** With what its note says, and who signed it. */
export const noteFault = ({ size, root, note, vkey, origin }: Signed['data']): string | null => {
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

/** With its root. @param log the leaves before it. */
export const rootFault = async (
  db: Database,
  log: Pick<LogTree, 'tree' | 'rootAt'>,
  { size, root }: Signed['data'],
): Promise<string | null> => {
  // Rows of earlier bundles were compared with the log before.
  const own = log.rootAt(size) ?? (await rootInRows(db, log.tree, size));
  return own === null || own.toString('base64') === root
    ? null
    : `the first ${size} leaves of the log have another root; later checkpoints were not compared`;
};

/** With its row. */
export const rowFault = async (db: Database, tree: string, { data, metadata }: Signed): Promise<string | null> => {
  const row = await storedCheckpoint(db, tree, data.size);
  if (row === null) return 'it has no row in audit_checkpoints';
  const isSame = row.note === data.note && row.vkey === data.vkey && row.signedAt === metadata.occurredAt;
  return isSame ? null : 'its row in audit_checkpoints says another';
};
