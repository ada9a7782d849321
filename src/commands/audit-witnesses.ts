import type { AuditKey, AuditLog } from '../domain/audit/audit-log.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { AuditEvent } from '../domain/events.ts';
import type { RecordedEvent } from '../domain/ports/event-store.ts';
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

export interface NoteDispute {
  readonly tree: string;
  /** The checkpoint that the witness was shown. */
  readonly note: string;
  readonly witness: string;
  /** Leaves that it has cosigned. */
  readonly cosignedSize: number;
}

/** Only what is in the log is released: no witness has cosigned more than that, and one that did not continue it said so. */
const isContradicted = ({ last, signing }: AuditLog, { note, cosignedSize }: NoteDispute): boolean => {
  const { origin, size } = parseCheckpoint(parseNote(note).text);
  if (last === null || signing?.origin !== origin) return false;
  return cosignedSize <= size || cosignedSize > last.size;
};

/**
 * Puts on record that a witness contradicts the log, which ends the signing. It need not have been shown the newest checkpoint:
 * where one is signed all the time, it never is.
 * @returns false: the log was reopened since, or the witness knows as many leaves as were signed meanwhile: it was shown them.
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
 * Goes on under another origin with another key, although what was signed may not be in the log any more. The key before
 * signs the first checkpoint too, so that whoever trusts it can follow.
 * @throws {DomainError} `not_found`: nothing was signed yet.
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
