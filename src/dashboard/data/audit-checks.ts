import type { AuditCheckpoint, AuditConsistency, AuditEntry, AuditProof } from '../../http/schemas/audit.ts';
import { request } from './api.ts';
import { count } from './time.ts';
import {
  areEqual,
  bytesOf,
  type Checkpoint,
  hexOf,
  isConsistent,
  isSignedBy,
  leafHash,
  parseCheckpoint,
  parseVerifierKey,
  rootOfInclusion,
} from './transparency-log.ts';

/** Checks the audit log in this browser and reports the results as sentences. */

export interface Check {
  readonly holds: boolean;
  readonly sentence: string;
  readonly detail: string;
}

/** Trust on first use: the first key seen for a log and the newest checkpoint that passed verification. */
export interface TrustedLog {
  readonly vkey: string;
  /** ISO 8601. */
  readonly keyKeptAt: string;
  readonly note: string;
  readonly noteKeptAt: string;
}

const STORED = 'outbox-audit-logs';

const trustedLogs = (): Readonly<Record<string, TrustedLog>> => {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? '{}') as Record<string, TrustedLog>; // only this module writes it
  } catch {
    return {};
  }
};

/** @param origin the log's origin, from its checkpoints. */
const trustedLogOf = (origin: string): TrustedLog | null => trustedLogs()[origin] ?? null;

const trust = (origin: string, kept: TrustedLog): void =>
  localStorage.setItem(STORED, JSON.stringify({ ...trustedLogs(), [origin]: kept }));

/** Trusts the next key that is seen. Call this after the operator has confirmed a key change. */
export const forgetTrustedLog = (origin: string): void => {
  const { [origin]: _forgotten, ...others } = trustedLogs();
  localStorage.setItem(STORED, JSON.stringify(others));
};

/** Browsers compute hashes only in a secure context. */
export const canCheck = (): boolean => globalThis.crypto?.subtle !== undefined;

/** ab12 cd34 … */
export const shortHash = (bytes: Uint8Array): string => {
  const groups = hexOf(bytes).match(/.{4}/g) ?? [];
  return `${groups.slice(0, 3).join(' ')} … ${groups.slice(-2).join(' ')}`;
};

const NO_CHECKPOINT: Check = {
  holds: false,
  sentence: 'There is no signed checkpoint in the answer',
  detail: 'A checkpoint is an origin, a size and a root, and the signatures of these.',
};

const checkSignature = async (checkpoint: Checkpoint, vkey: string): Promise<Check> => {
  const key = await parseVerifierKey(vkey);
  const isOwn = key !== null && key.name === checkpoint.origin;
  const holds = isOwn && (await isSignedBy(checkpoint, key));
  return {
    holds,
    sentence: holds
      ? 'The checkpoint is signed by the key of this log'
      : 'The checkpoint is not signed by the key that this browser keeps for the log',
    detail: `Ed25519, key ${key?.id ?? 'unreadable'}, ${checkpoint.origin}`,
  };
};

const sameJson = (one: unknown, other: unknown): boolean => {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other;
  const [left, right] = [Object.entries(one), other as Readonly<Record<string, unknown>>];
  return left.length === Object.keys(right).length && left.every(([name, value]) => sameJson(value, right[name]));
};

interface Leaf {
  readonly id?: string;
  readonly type?: string;
  readonly stream?: string;
  readonly revision?: number;
  readonly data?: unknown;
  readonly metadata?: { readonly occurredAt?: string; readonly actor?: string };
}

/** @returns null if the leaf is not JSON. */
export const readLeaf = (leaf: string): Leaf | null => {
  try {
    return JSON.parse(leaf) as Leaf;
  } catch {
    return null;
  }
};

/** True if the proven leaf matches the displayed entry. */
const isOf = (leaf: Leaf | null, entry: AuditEntry): boolean => {
  const { id, type, stream, revision, data, metadata } = leaf ?? {};
  const shown = [entry.event_id, entry.type, entry.stream, entry.revision, entry.occurred_at, entry.data];
  return sameJson([id, type, stream, revision, metadata?.occurredAt, data], shown);
};

const checkEntry = async (proof: AuditProof, entry: AuditEntry): Promise<Check> => {
  const holds = isOf(readLeaf(proof.leaf), entry);
  return {
    holds,
    sentence: holds
      ? 'The entry that you see has this hash'
      : 'The proof is of another entry than the one that you see',
    detail: shortHash(await leafHash(proof.leaf)),
  };
};

const checkInclusion = async (proof: AuditProof, { size, root }: Checkpoint): Promise<Check> => {
  const hashes = proof.hashes.map(bytesOf);
  const known = hashes.filter((hash) => hash !== null);
  const reached =
    known.length === hashes.length
      ? await rootOfInclusion(proof.leaf_index, size, await leafHash(proof.leaf), known)
      : null;
  const holds = areEqual(reached, root);
  const many = hashes.length === 1 ? '1 hash leads' : `${count(hashes.length)} hashes lead`;
  return {
    holds,
    sentence: holds
      ? `${many} from it to the root of ${count(size)} entries`
      : `The hashes do not lead to the root of ${count(size)} entries: the entry is not the one that was signed`,
    detail: shortHash(reached ?? root),
  };
};

/** Verifies the signature and that the log extends the stored checkpoint. Unsigned checkpoints are not compared. */
const checkCheckpoint = async (
  checkpoint: Checkpoint,
  kept: TrustedLog | null,
  vkey: string,
): Promise<readonly Check[]> => {
  const signature = await checkSignature(checkpoint, kept?.vkey ?? vkey);
  const before = kept === null ? null : parseCheckpoint(kept.note);
  return before === null || !signature.holds ? [signature] : [signature, await checkGrowth(before, checkpoint)];
};

const checkGrowth = async (before: Checkpoint, after: Checkpoint): Promise<Check> => {
  const { size } = before;
  const detail = `${shortHash(before.root)} at ${count(size)} entries`;
  const fails = {
    holds: false,
    sentence: `The log is not the one that this browser saw with ${count(size)} entries`,
    detail,
  };
  if (size > after.size) return fails;
  let hashes: readonly (Uint8Array | null)[] = [];
  if (size > 0 && size < after.size) {
    const query = { from: size, to: after.size };
    hashes = (await request<AuditConsistency>('/v1/audit/consistency', { query })).hashes.map(bytesOf);
  }
  const known = hashes.filter((hash) => hash !== null);
  const holds = known.length === hashes.length && (size === 0 || (await isConsistent(before, after, known)));
  return holds ? { holds, sentence: `The log was only added to since it had ${count(size)} entries`, detail } : fails;
};

/**
 * Verifies the proof of a displayed entry.
 * @param vkey the log's verifier key; used only if no key is stored yet.
 * @throws {ApiFault} and, in a browser without Ed25519, the error of its crypto API.
 */
export const checkProof = async (proof: AuditProof, entry: AuditEntry, vkey: string): Promise<readonly Check[]> => {
  const checkpoint = parseCheckpoint(proof.checkpoint);
  const ofEntry = await checkEntry(proof, entry);
  if (checkpoint === null) return [ofEntry, NO_CHECKPOINT];
  const kept = trustedLogOf(checkpoint.origin);
  return [ofEntry, await checkInclusion(proof, checkpoint), ...(await checkCheckpoint(checkpoint, kept, vkey))];
};

export interface LogCheck {
  readonly checks: readonly Check[];
  /** The stored trust state before this check. */
  readonly kept: TrustedLog | null;
  readonly size: number;
  /** Names of other signers. Their signatures are not verified here. */
  readonly cosigners: readonly string[];
}

/**
 * Verifies the newest checkpoint against the stored key and checkpoint, and stores it if every check passes.
 * @throws {ApiFault} and, in a browser without Ed25519, the error of its crypto API.
 */
export const checkLog = async ({ note, verifier_key: vkey }: AuditCheckpoint): Promise<LogCheck> => {
  const checkpoint = parseCheckpoint(note);
  if (checkpoint === null) return { checks: [NO_CHECKPOINT], kept: null, size: 0, cosigners: [] };
  const { origin, size, signatures } = checkpoint;
  const kept = trustedLogOf(origin);
  const checks = await checkCheckpoint(checkpoint, kept, vkey);
  if (checks.every(({ holds }) => holds)) {
    const now = new Date().toISOString();
    trust(origin, { vkey: kept?.vkey ?? vkey, keyKeptAt: kept?.keyKeptAt ?? now, note, noteKeptAt: now });
  }
  const cosigners = [...new Set(signatures.map(({ name }) => name))].filter((name) => name !== origin);
  return { checks, kept, size, cosigners };
};
