import { type AddressRange, parseRange } from '../../domain/address-ranges.ts';
import type { ExistingApiKey, NumberedSecret } from '../../domain/api-key/api-key.ts';
import type { ExistingAuditor } from '../../domain/audit/auditor.ts';
import type { KeyCacheProjection, KeyChange, KeyEntry } from '../../domain/key-cache.ts';
import { idOf, type RecordedEvent } from '../../domain/ports/event-store.ts';

/** A secret that a client may present, and its key. */
export interface PresentedSecret {
  readonly key: ExistingApiKey;
  readonly secretHash: string;
  readonly number: number;
  /** End of the secret's grace period (ISO 8601); null: the current secret. */
  readonly endsAt: string | null;
  readonly ranges: readonly AddressRange[];
}

/** The token that an auditor may present. */
export interface PresentedToken {
  readonly auditor: ExistingAuditor;
  readonly ranges: readonly AddressRange[];
}

/** Valid secrets by hash. */
export interface SecretIndex {
  /** Applies the next event of the log to the key cache and to this index. */
  apply(event: RecordedEvent): void;
  /** By SHA-256 of the secret, hex. */
  find(secretHash: string): PresentedSecret | PresentedToken | undefined;
}

const secretsOf = ({
  key,
  endedWithDomain,
}: KeyEntry): readonly (NumberedSecret & { readonly expiresAt: string | null })[] =>
  key.status === 'active' && !endedWithDomain ? [{ ...key.secret, expiresAt: null }, ...key.earlierSecrets] : [];

/** Indexes secrets by hash, with everything that can be computed before a request presents one. */
export const createSecretIndex = (projection: KeyCacheProjection): SecretIndex => {
  const secrets = new Map<string, PresentedSecret | PresentedToken>();
  const rangesOf = (cidrs: readonly string[]): readonly AddressRange[] =>
    cidrs.map(parseRange).filter((range) => range !== null);

  const index = ({ before, after }: KeyChange): void => {
    if (before !== undefined) for (const { hash } of secretsOf(before)) secrets.delete(hash);
    const { key } = after;
    const ranges = rangesOf(key.allowedCidrs);
    for (const { hash, number, expiresAt } of secretsOf(after))
      secrets.set(hash, { key, secretHash: hash, number, endsAt: expiresAt, ranges });
  };

  const indexAuditor = (before: ExistingAuditor | undefined, after: ExistingAuditor | undefined): void => {
    if (before !== undefined) secrets.delete(before.secret.hash);
    if (after !== undefined) secrets.set(after.secret.hash, { auditor: after, ranges: rangesOf(after.allowedCidrs) });
  };

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = projection.auditors.get(id);
      for (const change of projection.apply(event)) index(change);
      indexAuditor(before, projection.auditors.get(id));
    },
    find: (secretHash) => secrets.get(secretHash),
  };
};
