import { isIP } from 'node:net';

/** FNV-1a: spreads names evenly, and always the same way. */
const hash = (text: string): number => {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(text)) state = Math.imul(state ^ byte, 0x01000193) >>> 0;
  return state;
};

/**
 * Chooses the address of ours that mail for a domain comes from: always the same, since greylisting knows a sender by
 * it, and reputation is earned by it.
 * @param addresses IPs; empty: the machine chooses.
 * @returns for a domain and a family: undefined: any; null: none, since there are none of this family.
 */
export const createSourceAddresses = (addresses: readonly string[]) => {
  const byFamily = { 4: addresses.filter((each) => isIP(each) === 4), 6: addresses.filter((each) => isIP(each) === 6) };
  return (domain: string, family: 4 | 6): string | undefined | null => {
    if (addresses.length === 0) return undefined;
    const candidates = byFamily[family];
    return candidates[hash(domain) % candidates.length] ?? null;
  };
};

export type SourceAddresses = ReturnType<typeof createSourceAddresses>;
