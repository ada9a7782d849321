import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { verifyBytes } from '../../src/cli/audit/verify-file.ts';
import {
  BUNDLE_LEAVES,
  exportEndBegin,
  exportEndRest,
  exportHashes,
  exportHeader,
} from '../../src/domain/audit/leaf.ts';
import type { BodyOptions } from '../../src/domain/audit/verifier/export-body.ts';
import {
  type CompactRange,
  canonicalJson,
  checkpointText,
  createSigner,
  EMPTY_RANGE,
  extended,
  joined,
  leafHash,
  NO_POLICY,
  type Signer,
  signedNote,
} from '../../src/lib/transparency/transparency.ts';
import { NOW } from './specification.ts';

export const ORIGIN = 'mail.example/v1/audit/tlog/org_mine';

/** Adds leaves to a log and exports it, as the service would. */
export interface AuditLogWriter {
  readonly leaves: string[];
  readonly signer: Signer;
  /** Uses this origin for later notes and exports. */
  reopen(origin: string): void;
  /** Adds an event to a stream, with the next revision by default. */
  add(event: {
    type?: string;
    stream?: string;
    data?: object;
    metadata?: object;
    id?: string;
    revision?: number;
  }): string;
  /** Adds events of new messages, two for each message, until the log has `to` of them. */
  fill(to: number): void;
  root(size: number): Buffer;
  /** A note over the first `size` leaves. */
  note(size: number, lines?: readonly ((text: string) => string)[]): string;
  /** Adds a checkpoint of all leaves as a leaf. */
  sign(signers?: readonly Signer[]): void;
  export(more?: { from?: number; size?: number; note?: string }): string;
}

export const rangeOf = (leaves: readonly string[], size: number): CompactRange =>
  leaves.slice(0, size).reduce((range, leaf) => extended(range, leafHash(leaf)), EMPTY_RANGE);

export const createAuditLog = (leaves: string[] = []): AuditLogWriter => {
  const signer = createSigner(ORIGIN, randomBytes(32));
  const revisions = new Map<string, number>();
  let origin = ORIGIN;

  const add: AuditLogWriter['add'] = ({
    type = 'MessageAccepted',
    stream = 'message-msg_1',
    data = {},
    metadata = {},
    ...more
  }) => {
    const { id = randomUUID(), revision = (revisions.get(stream) ?? -1) + 1 } = more;
    revisions.set(stream, revision);
    const leaf = canonicalJson({
      data,
      id,
      metadata: { actor: 'service', occurredAt: NOW, ...metadata },
      revision,
      stream,
      type,
    });
    leaves.push(leaf);
    return leaf;
  };

  const root = (size: number): Buffer => joined(rangeOf(leaves, size).hashes);

  const note: AuditLogWriter['note'] = (size, lines = [signer.signatureLine]) => {
    const text = checkpointText({ origin, size, root: root(size) });
    return signedNote(
      text,
      lines.map((line) => line(text)),
    );
  };

  return {
    leaves,
    signer,
    reopen: (next) => {
      origin = next;
    },
    add,
    fill: (to) => {
      while (leaves.length < to) {
        const number = Math.floor(leaves.length / 2);
        add({ stream: `message-msg_${number}`, type: leaves.length % 2 === 0 ? 'MessageAccepted' : 'AttemptMade' });
      }
    },
    root,
    note,
    sign: (signers = [signer]) => {
      const size = leaves.length;
      const text = note(
        size,
        signers.map((each) => each.signatureLine),
      );
      const data = { size, root: root(size).toString('base64'), note: text };
      add({ type: 'CheckpointSigned', stream: 'audit-org_mine', data });
    },
    export: ({ from = 0, size = leaves.length, note: end = note(size) } = {}) =>
      exportOf(leaves.slice(from, size), { origin, from, size, edge: rangeOf(leaves, from).hashes, note: end }),
  };
};

interface Frame {
  readonly origin?: string;
  readonly from: number;
  readonly size: number;
  readonly edge: readonly Buffer[];
  readonly note: string;
}

/** The text of an export with these leaves. */
export const exportOf = (leaves: readonly string[], { origin = ORIGIN, from, size, edge, note }: Frame): string => {
  const lines = [exportHeader({ origin, from, size, edge })];
  let bundle: Buffer[] = [];
  for (const [at, leaf] of leaves.entries()) {
    lines.push(leaf);
    bundle.push(leafHash(leaf));
    const next = from + at + 1;
    if (next % BUNDLE_LEAVES !== 0 && at < leaves.length - 1) continue;
    lines.push(exportHashes({ tile: Math.floor((next - 1) / BUNDLE_LEAVES), hashes: Buffer.concat(bundle) }));
    bundle = [];
  }
  return withChecksum([...lines, exportEndBegin(note)].join('\n'));
};

const withChecksum = (text: string | Buffer): string =>
  `${text}${exportEndRest(createHash('sha256').update(text).digest('hex'))}\n`;

const REST = Buffer.from(',"sha256":"');

/** The same export with its checksum corrected for its bytes. */
export const mended = (bytes: Buffer): Buffer => {
  const at = bytes.lastIndexOf(REST);
  if (at < 0) return bytes;
  const text = bytes.subarray(0, at);
  return Buffer.concat([text, Buffer.from(`${exportEndRest(createHash('sha256').update(text).digest('hex'))}\n`)]);
};

/** Verifies an export. By default no key is trusted. */
export const verify = (bytes: string | Buffer, options: Partial<BodyOptions> = {}) => {
  const defaults: BodyOptions = {
    keys: [],
    quorum: { policy: NO_POLICY, count: null },
    since: [],
    expected: [],
    disclosures: [],
  };
  return verifyBytes([Buffer.from(bytes)], { ...defaults, ...options });
};
