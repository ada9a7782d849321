import { treeOf } from '../../domain/audit/leaf.ts';
import { categoryOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { AuditEvent } from '../../domain/kernel/events.ts';
import { CATEGORIES } from '../../domain/kernel/streams.ts';
import { signatoryOf } from '../../lib/transparency/transparency.ts';
import type { Database } from '../database.ts';
import { rowsInto } from '../rebuild-tables.ts';
import { createAuditTrees } from './tree.ts';

/** Checkpoints of the audit trees as the log holds them. */

export type CheckpointSignedEvent = RecordedEvent<Extract<AuditEvent, { readonly type: 'CheckpointSigned' }>>;
export type CheckpointCosignedEvent = RecordedEvent<Extract<AuditEvent, { readonly type: 'CheckpointCosigned' }>>;

export const isSigned = (event: RecordedEvent): event is CheckpointSignedEvent => event.type === 'CheckpointSigned';
export const isCosigned = (event: RecordedEvent): event is CheckpointCosignedEvent =>
  event.type === 'CheckpointCosigned';

/** How much of a tree is signed. */
export interface SignedPart {
  /** Leaves that its last checkpoint is about. */
  readonly signedSize: number;
  /** Leaves up to the last one that is not about checkpoints itself: those are no reason for another. */
  readonly grownTo: number;
  /** A witness contradicts it. */
  readonly disputed: boolean;
}

/** @param events the next ones of a tree of `size` leaves. */
export const signedAfter = (before: SignedPart, size: number, events: readonly RecordedEvent[]): SignedPart => {
  const last = events.findLast(isSigned);
  const grown = events.findLastIndex(
    ({ stream, type }) => categoryOf(stream) !== CATEGORIES.audit || type === 'AuditReopened',
  );
  const opened = events.findLast(({ type }) => type === 'AuditDisputed' || type === 'AuditReopened');
  return {
    signedSize: last?.data.size ?? before.signedSize,
    grownTo: grown === -1 ? before.grownTo : size + grown + 1,
    disputed: opened === undefined ? before.disputed : opened.type === 'AuditDisputed',
  };
};

/** The log is not the one that was signed: leaves before a checkpoint were changed, taken out or added. */
export class ChangedLog extends Error {
  override readonly name = 'ChangedLog';
}

const insertCheckpoints = rowsInto<{ tree: string; size: number; note: string; vkey: string; signedAt: string }>(
  'audit_checkpoints',
  {
    tree: 'tree',
    size: 'size',
    note: 'note',
    vkey: 'vkey',
    signed_at: 'signedAt',
  },
);

const ADD_COSIGNATURES = {
  name: 'audit-add-cosignatures',
  text: `
    update audit_checkpoints set cosignatures = cosignatures || $3, cosigners = cosigners || $4::text[]
    where tree = $1 and size = $2`,
};

/**
 * Keeps checkpoints of the log, each of which must be of this very tree: a rebuild from a log that was changed never
 * goes live.
 */
export const putCheckpoints = async (db: Database, events: readonly RecordedEvent[]): Promise<void> => {
  const signed = events.filter(isSigned);
  const trees = createAuditTrees(db, '');
  for (const event of signed) {
    const root = (await trees.root(treeOf(event), event.data.size)).toString('base64');
    if (root === event.data.root) continue;
    throw new ChangedLog(`the log does not hold the ${event.data.size} leaves of ${treeOf(event)} that were signed`);
  }
  const rows = signed.map((event) => {
    const { size, note, vkey } = event.data;
    return { tree: treeOf(event), size, note, vkey, signedAt: event.metadata.occurredAt };
  });
  await insertCheckpoints(db, rows);
  for (const event of events.filter(isCosigned)) {
    const { size, lines } = event.data;
    const text = lines.map((line) => `${line}\n`).join('');
    await db.query({ ...ADD_COSIGNATURES, values: [treeOf(event), size, text, lines.map(signatoryOf)] });
  }
};
