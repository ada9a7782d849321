import { type CompactRange, HASH_BYTES, joined } from '../../lib/transparency/transparency.ts';
import type { Seals } from '../kernel/event-store.ts';

/**
 * State of an audit tree as the projection computed it from the log. It is sealed under a key that is not in the database, so
 * that no row is signed that was changed in the database after the projection wrote it.
 */
export interface TreeState {
  readonly tree: string;
  readonly size: number;
  /** Hashes of the complete subtrees of its leaves, concatenated, in base64. null: an earlier version did not keep them. */
  readonly hashes: string | null;
  /** The first leaf that this service cannot prove to have written and that is not adopted. */
  readonly foreignLeaf: number | null;
  readonly foreignEvent: string | null;
  /** null: an earlier version did not seal it, or the log has no proofs. */
  readonly seal: string | null;
}

type Unsealed = Omit<TreeState, 'seal'>;

const sealedText = ({ tree, size, hashes, foreignLeaf, foreignEvent }: Unsealed): string =>
  JSON.stringify(['audit-tree', tree, size, hashes, foreignLeaf, foreignEvent]);

export const sealState = (state: Unsealed, seals: Seals): string => seals.make(sealedText(state));

/** True if the projection wrote this state. */
export const isSealed = (state: TreeState, seals: Seals): boolean =>
  state.seal !== null && seals.holds(sealedText(state), state.seal);

export const rangeOf = ({ size, hashes }: Pick<TreeState, 'size' | 'hashes'>): CompactRange => {
  const all = Buffer.from(hashes ?? '', 'base64');
  const count = Math.floor(all.length / HASH_BYTES);
  return {
    size,
    hashes: Array.from({ length: count }, (_, at) => all.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)),
  };
};

export const hashesOf = ({ hashes }: CompactRange): string => Buffer.concat(hashes).toString('base64');

export const rootOf = (state: Pick<TreeState, 'size' | 'hashes'>): Buffer => joined(rangeOf(state).hashes);
