import type { Aggregate } from '../aggregate.ts';
import type { AuditEvent } from '../events.ts';
import { CATEGORIES } from '../streams.ts';

/** The public half of a signing key, and the vault's id of its private half. */
export interface AuditKey {
  readonly vkey: string;
  readonly secretId: string;
}

/** What was signed last. */
export interface SignedCheckpoint {
  readonly size: number;
  /** base64 */
  readonly root: string;
  readonly note: string;
}

/** How the tree of an organization is signed. It follows from the last checkpoint and what came after it. */
export interface AuditLog {
  /** null: nothing was signed yet. */
  readonly signing: { readonly origin: string; readonly key: AuditKey } | null;
  /** Keys before the current one that still sign. */
  readonly former: AuditKey | null;
  readonly last: SignedCheckpoint | null;
  /** Why nothing is signed; null: it is. */
  readonly dispute: { readonly witness: string; readonly cosignedSize: number } | null;
}

const evolve = (state: AuditLog, { type, data }: AuditEvent): AuditLog => {
  switch (type) {
    case 'AuditKeyAdded': {
      const { origin, vkey, secretId } = data;
      return {
        ...state,
        signing: { origin, key: { vkey, secretId } },
        former: state.former ?? state.signing?.key ?? null,
      };
    }
    case 'AuditKeyRetired':
      return { ...state, former: null };
    case 'CheckpointSigned': {
      const { origin, vkey, secretId, size, root, note } = data;
      return { ...state, signing: { origin, key: { vkey, secretId } }, last: { size, root, note } };
    }
    case 'AuditDisputed': {
      const { witness, cosignedSize } = data;
      return { ...state, dispute: { witness, cosignedSize } };
    }
    case 'AuditReopened':
      return { ...state, dispute: null };
    default:
      return state;
  }
};

export const auditLog: Aggregate<AuditLog, AuditEvent> = {
  category: CATEGORIES.audit,
  initial: { signing: null, former: null, last: null, dispute: null },
  evolve,
};
