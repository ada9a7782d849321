import { parseCheckpoint, parseNote, signatoryOf } from '../domain/audit/signed-note.ts';
import type { AuditEvent } from '../domain/events.ts';
import { type AuditContext, appendToAuditLog, loadAuditLog, organizationOf } from './audit.ts';
import { internalOrigin, type Origin } from './context.ts';
import { retryConflicts } from './execute.ts';

/** What witnesses of an audit tree have said goes on record beside its checkpoints. */

const workerOrigin = (tree: string): Origin =>
  internalOrigin({ actor: 'worker:ask-witnesses', organizationId: organizationOf(tree), causeId: tree });

export interface NoteCosignature {
  readonly tree: string;
  /** As it was signed. */
  readonly note: string;
  /** Verified by the caller. */
  readonly line: string;
}

/** Puts a witness's line on record; once, if two processes have asked. */
export const noteCosignature = async (context: AuditContext, { tree, note, line }: NoteCosignature): Promise<void> => {
  await retryConflicts(async () => {
    const loaded = await loadAuditLog(context, tree);
    const { last } = loaded.state;
    const isKnown = last?.note === note && last.cosignatures.some((each) => signatoryOf(each) === signatoryOf(line));
    if (isKnown) return true;
    const { origin, size } = parseCheckpoint(parseNote(note).text);
    const data = { organizationId: organizationOf(tree), origin, size, lines: [line] };
    const events: AuditEvent[] = [{ type: 'CheckpointCosigned', data }];
    return (await appendToAuditLog(context, tree, loaded, { events, origin: workerOrigin(tree) })) || null;
  });
};
