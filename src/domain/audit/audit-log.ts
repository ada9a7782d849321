import type { Aggregate } from '../kernel/aggregate.ts';
import type { AuditEvent } from '../kernel/events.ts';
import { CATEGORIES } from '../kernel/streams.ts';

/** Public half of a signing key, and the vault id of its private half. */
export interface AuditKey {
  readonly vkey: string;
  readonly secretId: string;
}

/** The last checkpoint that was signed. */
export interface SignedCheckpoint {
  readonly size: number;
  /** base64 */
  readonly root: string;
  readonly note: string;
}

/** Signing state of an organization's tree, derived from the last checkpoint and the events after it. */
export interface AuditLog {
  /** Null until the first key is added. */
  readonly signing: { readonly origin: string; readonly key: AuditKey } | null;
  /** The previous key, which still signs. */
  readonly former: AuditKey | null;
  readonly last: SignedCheckpoint | null;
  /** Reason why signing has stopped; null while it continues. */
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
