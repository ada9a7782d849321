import type { AuditKey, AuditLog } from '../domain/audit/audit.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { RecordedEvent } from '../domain/kernel/event-store.ts';
import type { AuditEvent } from '../domain/kernel/events.ts';
import { parseCheckpoint, parseNote, signatoryOf } from '../lib/transparency/transparency.ts';
import {
  type AuditContext,
  appendToAuditLog,
  auditLogAt,
  auditLogSince,
  loadAuditLog,
  newKey,
  organizationOf,
} from './audit.ts';
import { internalOrigin, type Origin } from './context.ts';
import { retryConflicts } from './execute.ts';

/** Records what witnesses of an audit tree have answered, in the stream of its checkpoints. */

const workerOrigin = (tree: string): Origin =>
  internalOrigin({ actor: 'worker:ask-witnesses', organizationId: organizationOf(tree), causeId: tree });

export interface NoteCosignature {
  readonly tree: string;
  /** The note as signed. */
  readonly note: string;
  /** Verified by the caller. */
  readonly line: string;
}

export interface NoteDispute {
  readonly tree: string;
  /** The checkpoint that the witness was shown. */
  readonly note: string;
  readonly witness: string;
  /** Leaves that it has cosigned. */
  readonly cosignedSize: number;
}

/** Released checkpoints are all in the log. A witness that claims more leaves, or does not continue from fewer, contradicts it. */
const isContradicted = ({ last, signing }: AuditLog, { note, cosignedSize }: NoteDispute): boolean => {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  if (last === null || signing?.origin !== origin) return false;
  return cosignedSize <= size || cosignedSize > last.size;
};

/**
 * Records that a witness contradicts the log, which stops the signing. The witness need not have seen the newest checkpoint:
 * while checkpoints are signed continuously, it never has.
 * @returns false if the log was reopened since, or the number of leaves that the witness knows has been signed by now, so it was shown them.
 */
export const noteDispute = (context: AuditContext, dispute: NoteDispute): Promise<boolean> =>
  retryConflicts(async () => {
    const { tree, note, witness, cosignedSize } = dispute;
    const loaded = await loadAuditLog(context, tree);
    if (!isContradicted(loaded.state, dispute)) return false;
    if (loaded.state.dispute !== null) return true;
    const { origin, size } = parseCheckpoint(parseNote(note).text);
    const data = { organizationId: organizationOf(tree), origin, size, witness, cosignedSize };
    const events: AuditEvent[] = [{ type: 'AuditDisputed', data }];
    return (await appendToAuditLog(context, tree, loaded, { events, origin: workerOrigin(tree) })) || null;
  });

const NUMBERED = /^(?<first>.*\/tlog\/[^/]+)\/(?<number>\d+)$/;

/** `<origin>/2` behind the first, then `/3`. */
const originAfter = (origin: string): string => {
  const { first = origin, number = '1' } = NUMBERED.exec(origin)?.groups ?? {};
  return `${first}/${Number(number) + 1}`;
};

/**
 * Continues under a new origin with a new key, although signed events may be missing from the log. The previous key also
 * signs the first checkpoint, so that its verifiers can follow.
 * @throws {DomainError} `not_found`: nothing has been signed yet.
 */
export const reopenAuditLog = (
  context: AuditContext,
  origin: Origin,
  { tree, reason }: { readonly tree: string; readonly reason: string },
): Promise<AuditKey & { readonly origin: string }> =>
  retryConflicts(async () => {
    const loaded = await loadAuditLog(context, tree);
    const { signing, last } = loaded.state;
    if (signing === null || last === null) throw new DomainError('not_found', 'nothing was signed yet');
    const organizationId = organizationOf(tree);
    const next = originAfter(signing.origin);
    const key = await newKey(context, organizationId, next);
    const { vkey, secretId } = key;
    const events: AuditEvent[] = [
      {
        type: 'AuditReopened',
        data: { organizationId, origin: next, previousOrigin: signing.origin, previous: last.note, reason },
      },
      { type: 'AuditKeyAdded', data: { organizationId, origin: next, vkey, secretId } },
    ];
    const isAppended = await appendToAuditLog(context, tree, loaded, { events, origin });
    return isAppended ? { ...key, origin: next } : null;
  });

/**
 * Puts a witness's line on record; once, if two processes have asked, or one that died: the checkpoint may not be the newest
 * any more.
 */
export const noteCosignature = async (context: AuditContext, { tree, note, line }: NoteCosignature): Promise<void> => {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  const signatory = signatoryOf(line);
  const isOnRecord = ({ type, data }: RecordedEvent): boolean =>
    type === 'CheckpointCosigned' &&
    data.origin === origin &&
    data.size === size &&
    data.lines.some((each) => signatoryOf(each) === signatory);
  await retryConflicts(async () => {
    const events = await auditLogSince(
      context,
      tree,
      ({ type, data }) => type === 'CheckpointSigned' && data.note === note,
    );
    if (events.some(isOnRecord)) return true;
    const data = { organizationId: organizationOf(tree), origin, size, lines: [line] };
    const cosigned: AuditEvent[] = [{ type: 'CheckpointCosigned', data }];
    const append = { events: cosigned, origin: workerOrigin(tree) };
    return (await appendToAuditLog(context, tree, auditLogAt(events), append)) || null;
  });
};
