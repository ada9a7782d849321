import type { DkimKey } from './events.ts';

/** Keys that were made together: RSA, which decides, and Ed25519. */
export interface DkimPair {
  readonly keys: readonly DkimKey[];
  readonly addedAt: string;
  /** null: not yet. */
  readonly activatedAt: string | null;
  /** Selectors of those that sign: their records were seen. */
  readonly signing: readonly string[];
}

/** Keys that sign no more; mail under way may still be verified by them. */
export interface RetiredDkimPair {
  readonly selectors: readonly string[];
  readonly safeToRemoveAt: string;
}

export interface DomainDkim {
  readonly active: DkimPair | null;
  /** Waits for its RSA record to be seen, then takes the active pair's place. */
  readonly pending: DkimPair | null;
  /** Latest first. */
  readonly retired: readonly RetiredDkimPair[];
}

/** A rotation has to be published first, so more in a week are nobody's need; each costs what every process remembers. */
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

/** @param activated selectors that sign from now on. */
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

/** The key without whose record mail of the domain is not believed everywhere. */
export const rsaOf = ({ keys }: Pick<DkimPair, 'keys'>): DkimKey | undefined =>
  keys.find(({ algorithm }) => algorithm === 'rsa-sha256');

/** The pair whose RSA record the domain needs: the active one, or the pending one until a pair is active. */
export const decidingPair = ({ active, pending }: DomainDkim): DkimPair | null => active ?? pending;

/**
 * The keys that mail is signed by: those whose records were seen, RSA first. While mail is captured nobody looks, and the
 * keys sign that would if all was published: what is seen is what would leave.
 */
export const signingKeys = ({ active, pending }: DomainDkim, capturing: boolean): readonly DkimKey[] => {
  if (active !== null) return active.keys.filter(({ selector }) => active.signing.includes(selector));
  return capturing ? (pending?.keys ?? []) : [];
};

/** RFC 6376 §3.6.2.1. */
export const dkimHost = (name: string, selector: string): string => `${selector}._domainkey.${name}`;
