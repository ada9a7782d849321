import { type AddressRange, parseRange } from '../../domain/address-ranges.ts';
import type { ExistingApiKey, NumberedSecret } from '../../domain/api-key/api-key.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';
import type { KeyChange, KeyEntry, WritableRegister } from '../../domain/register.ts';

/** A secret that somebody showed, and the key it opens. */
export interface ShownSecret {
  readonly key: ExistingApiKey;
  readonly secretHash: string;
  readonly number: number;
  /** End of the secret's grace period (ISO 8601); null: the current secret. */
  readonly endsAt: string | null;
  readonly ranges: readonly AddressRange[];
}

/** The secrets that open the door. */
export interface KeyRegister {
  /** Takes in the next event of the log, and what it means to the register behind this. */
  apply(event: RecordedEvent): void;
  /** By SHA-256 of the secret, hex. */
  find(secretHash: string): ShownSecret | undefined;
}

const secretsOf = ({
  key,
  endedWithDomain,
}: KeyEntry): readonly (NumberedSecret & { readonly expiresAt: string | null })[] =>
  key.status === 'active' && !endedWithDomain ? [{ ...key.secret, expiresAt: null }, ...key.earlierSecrets] : [];

/** Secrets by their hashes: whatever can be worked out before somebody shows one has been. */
export const createKeyRegister = (register: WritableRegister): KeyRegister => {
  const secrets = new Map<string, ShownSecret>();

  const index = ({ before, after }: KeyChange): void => {
    if (before !== undefined) for (const { hash } of secretsOf(before)) secrets.delete(hash);
    const { key } = after;
    const ranges = key.allowedCidrs.map(parseRange).filter((range) => range !== null);
    for (const { hash, number, expiresAt } of secretsOf(after))
      secrets.set(hash, { key, secretHash: hash, number, endsAt: expiresAt, ranges });
  };

  return {
    apply: (event) => {
      for (const change of register.apply(event)) index(change);
    },
    find: (secretHash) => secrets.get(secretHash),
  };
};
