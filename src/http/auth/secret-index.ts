import type { ExistingApiKey } from '../../domain/api-key/api-key.ts';
import type { KeyCacheProjection, KeyChange, KeyEntry } from '../../domain/api-key/key-cache.ts';
import type { ExistingAuditor } from '../../domain/audit/audit.ts';
import { type AddressRange, parseRange } from '../../domain/kernel/addresses.ts';
import { idOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { ExistingSession } from '../../domain/member/session.ts';

/** Owner of a secret. */
export type Holder =
  | { readonly kind: 'key'; readonly key: ExistingApiKey; readonly number: number }
  | { readonly kind: 'auditor'; readonly auditor: ExistingAuditor }
  | { readonly kind: 'session'; readonly session: ExistingSession };

/** Part of a request that carries a secret. Sessions are accepted in cookies only, keys and tokens as bearer tokens only. */
export type Carrier = 'bearer' | 'cookie';

/** A secret that a client may present. */
export interface Credential {
  readonly holder: Holder;
  readonly carrier: Carrier;
  /** SHA-256, hex. */
  readonly secretHash: string;
  /** Expiry (ISO 8601); null: never. */
  readonly endsAt: string | null;
  /** Networks that it may be used from; none: any. */
  readonly ranges: readonly AddressRange[];
}

/** Valid secrets by hash. */
export interface SecretIndex {
  /** Applies the next event of the log to the key cache and to this index. */
  apply(event: RecordedEvent): void;
  /** By SHA-256 of the secret, hex. */
  find(secretHash: string): Credential | undefined;
}

const NONE: readonly Credential[] = [];

const rangesOf = (cidrs: readonly string[]): readonly AddressRange[] =>
  cidrs.map(parseRange).filter((range) => range !== null);

const earlier = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other < one) ? other : one;

const ofKey = ({ key, endedWithDomain }: KeyEntry): readonly Credential[] => {
  if (key.status !== 'active' || endedWithDomain) return NONE;
  const ranges = rangesOf(key.allowedCidrs);
  return [{ ...key.secret, expiresAt: null }, ...key.earlierSecrets].map(({ hash, number, expiresAt }) => ({
    holder: { kind: 'key', key, number },
    carrier: 'bearer',
    secretHash: hash,
    endsAt: earlier(expiresAt, key.expiresAt),
    ranges,
  }));
};

const ofAuditor = (auditor: ExistingAuditor): Credential => ({
  holder: { kind: 'auditor', auditor },
  carrier: 'bearer',
  secretHash: auditor.secret.hash,
  endsAt: auditor.expiresAt,
  ranges: rangesOf(auditor.allowedCidrs),
});

const ofSession = (session: ExistingSession): Credential => ({
  holder: { kind: 'session', session },
  carrier: 'cookie',
  secretHash: session.secretHash,
  endsAt: session.expiresAt,
  ranges: [],
});

/** Indexes secrets by hash, with everything that can be computed before a request presents one. */
export const createSecretIndex = (projection: KeyCacheProjection): SecretIndex => {
  const secrets = new Map<string, Credential>();

  const replace = (before: readonly Credential[], after: readonly Credential[]): void => {
    for (const { secretHash } of before) secrets.delete(secretHash);
    for (const credential of after) secrets.set(credential.secretHash, credential);
  };

  const replaceKey = ({ before, after }: KeyChange): void =>
    replace(before === undefined ? NONE : ofKey(before), ofKey(after));

  /** Credentials of the auditor or the session with this id. */
  const othersOf = (id: string): readonly Credential[] => {
    const auditor = projection.auditors.get(id);
    const session = projection.sessions.get(id);
    return [
      ...(auditor === undefined ? NONE : [ofAuditor(auditor)]),
      ...(session === undefined ? NONE : [ofSession(session)]),
    ];
  };

  return {
    apply: (event) => {
      const id = event.type === 'PresenceProven' ? event.data.sessionId : idOf(event.stream);
      const before = othersOf(id);
      for (const change of projection.apply(event)) replaceKey(change);
      replace(before, othersOf(id));
      // With each that begins those before it that are over are forgotten: no number of them fills the memory.
      if (event.type === 'SessionStarted')
        replace(projection.forgetSessions(Date.parse(event.metadata.occurredAt)).map(ofSession), NONE);
    },
    find: (secretHash) => secrets.get(secretHash),
  };
};
