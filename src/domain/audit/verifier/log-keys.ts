import { type Note, parseVerifierKey, signedAt, type VerifierKey } from '../../../lib/transparency/transparency.ts';

/**
 * The keys that sign a log's checkpoints. The first ones are configured from outside. A later key is trusted once a
 * checkpoint of a trusted key covers the leaf that added it, and is no longer trusted for leaves after the one that
 * retired it.
 */

/** `unknown`: no trusted key has signed. `forged`: a line names a trusted key, but the signature is not by that key. */
export type Signed = 'trusted' | 'unknown' | 'forged';

export interface LogKeys {
  /** Whether a key trusted at this size has signed. */
  check(note: Note, size: number): Signed;
  /** Adds the key of a leaf. @param vkey as in the leaf; an invalid one is ignored. */
  add(vkey: string, leaf: number): void;
  retire(vkey: string, leaf: number): void;
  /** Trusts what the first `size` leaves say about keys: a checkpoint of a trusted key has their root. */
  cover(size: number): void;
  readonly trusted: readonly VerifierKey[];
}

interface Announced {
  readonly key: VerifierKey;
  readonly leaf: number;
}

const keyOf = (vkey: string): VerifierKey | null => {
  try {
    return parseVerifierKey(vkey);
  } catch {
    return null;
  }
};

/** Whether a note has a signature line of this key. */
const isNamed = ({ signatures }: Note, { name, id }: VerifierKey): boolean =>
  signatures.some((signature) => signature.name === name && signature.id === id);

/** Verifies a key's signature on a note. @returns the time of a cosignature in seconds since 1970, or 0. */
export const signatureBy = (note: Note, key: VerifierKey): number | 'forged' | null =>
  isNamed(note, key) ? (signedAt(note, key) ?? 'forged') : null;

export const createLogKeys = (pinned: readonly VerifierKey[]): LogKeys => {
  const trusted = new Map(pinned.map((key) => [key.text, key]));
  const retired = new Map<string, number>();
  let added: Announced[] = [];
  let ended: Announced[] = [];

  const announced = (vkey: string, leaf: number): readonly Announced[] => {
    const key = keyOf(vkey);
    return key === null ? [] : [{ key, leaf }];
  };

  return {
    check: (note, size) => {
      const valid = [...trusted.values()].filter(({ text }) => size <= (retired.get(text) ?? Number.POSITIVE_INFINITY));
      const signatures = valid.map((key) => signatureBy(note, key));
      if (signatures.includes('forged')) return 'forged';
      return signatures.some((signature) => signature !== null) ? 'trusted' : 'unknown';
    },
    add: (vkey, leaf) => added.push(...announced(vkey, leaf)),
    retire: (vkey, leaf) => ended.push(...announced(vkey, leaf)),
    cover: (size) => {
      for (const { key } of added.filter(({ leaf }) => leaf < size)) trusted.set(key.text, key);
      for (const { key, leaf } of ended.filter((each) => each.leaf < size)) retired.set(key.text, leaf);
      added = added.filter(({ leaf }) => leaf >= size);
      ended = ended.filter(({ leaf }) => leaf >= size);
    },
    get trusted() {
      return [...trusted.values()];
    },
  };
};
