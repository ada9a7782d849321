import type { DkimKey } from './events.ts';

/** Keys that were made together: RSA, which determines the state, and Ed25519. */
export interface DkimPair {
  readonly keys: readonly DkimKey[];
  readonly addedAt: string;
  /** Null until it signs. */
  readonly activatedAt: string | null;
  /** Selectors of the keys that sign, because their records were seen. */
  readonly signing: readonly string[];
}

/** Keys that no longer sign, but may still verify mail in transit. */
export interface RetiredDkimPair {
  readonly selectors: readonly string[];
  readonly safeToRemoveAt: string;
}

export interface DomainDkim {
  readonly active: DkimPair | null;
  /** Waits until its RSA record is seen, then replaces the active pair. */
  readonly pending: DkimPair | null;
  /** Latest first. */
  readonly retired: readonly RetiredDkimPair[];
}

/**
 * Maximum retired pairs. Each rotation must be published first, so that more are never needed in a week. Every process
 * holds them in memory.
 */
const RETIRED_MAX = 10;

export const firstDkim = (keys: readonly DkimKey[], addedAt: string): DomainDkim =>
  addDkim({ active: null, pending: null, retired: [] }, keys, addedAt);

export const addDkim = (dkim: DomainDkim, keys: readonly DkimKey[], addedAt: string): DomainDkim => ({
  ...dkim,
  pending: { keys, addedAt, activatedAt: null, signing: [] },
});

const isOf = (pair: DkimPair | null, selectors: readonly string[]): pair is DkimPair =>
  pair?.keys.some(({ selector }) => selectors.includes(selector)) === true;

const retire = ({ active, retired }: DomainDkim, safeToRemoveAt: string | null): readonly RetiredDkimPair[] => {
  if (active === null || safeToRemoveAt === null) return retired;
  const selectors = active.keys.map(({ selector }) => selector);
  return [{ selectors, safeToRemoveAt }, ...retired].slice(0, RETIRED_MAX);
};

/** Starts signing. @param activated selectors that sign from now on. */
export const activateDkim = (
  dkim: DomainDkim,
  activated: { readonly selectors: readonly string[]; readonly safeToRemoveAt: string | null },
  at: string,
): DomainDkim => {
  const { selectors: signing, safeToRemoveAt } = activated;
  const { active, pending } = dkim;
  if (isOf(active, signing)) return { ...dkim, active: { ...active, signing } };
  if (!isOf(pending, signing)) return dkim;
  return {
    active: { ...pending, activatedAt: at, signing },
    pending: null,
    retired: retire(dkim, safeToRemoveAt),
  };
};

/** The RSA key. Without its record, some receivers cannot verify the domain's mail. */
export const rsaOf = ({ keys }: Pick<DkimPair, 'keys'>): DkimKey | undefined =>
  keys.find(({ algorithm }) => algorithm === 'rsa-sha256');

/** The pair whose RSA record the domain needs: the active one, or the pending one until a pair is active. */
export const decidingPair = ({ active, pending }: DomainDkim): DkimPair | null => active ?? pending;

/**
 * The keys that sign mail: those whose records were seen, RSA first. While mail is captured records are not required,
 * so without an active pair the pending keys sign: captured mail looks like mail that would be sent.
 */
export const signingKeys = ({ active, pending }: DomainDkim, capturing: boolean): readonly DkimKey[] => {
  if (active !== null) return active.keys.filter(({ selector }) => active.signing.includes(selector));
  return capturing ? (pending?.keys ?? []) : [];
};

/** Host of a key record (RFC 6376 §3.6.2.1). */
export const dkimHost = (name: string, selector: string): string => `${selector}._domainkey.${name}`;
