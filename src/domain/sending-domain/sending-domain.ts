import type { ExistingApiKey } from '../api-key/api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from '../api-key/caller.ts';
import { type Aggregate, requireOwn } from '../kernel/aggregate.ts';
import { sha256 } from '../kernel/digest.ts';
import { DomainError } from '../kernel/errors.ts';
import type { SendingDomainEvent } from '../kernel/events.ts';
import { formatId } from '../kernel/ids.ts';
import { CATEGORIES } from '../kernel/streams.ts';
import { NO_TRACKING, type Tracking } from '../tracking/tracking.ts';
import type { Branding, DkimKey, VerificationMethod } from './events.ts';

/** State of a verified domain with a required record that is missing or wrong, or was for too long. */
type DomainTrouble =
  | { readonly status: 'degraded'; readonly since: string; readonly failsAt: string }
  | { readonly status: 'failed'; readonly since: string };

export interface ExistingSendingDomain {
  readonly status: 'registered' | 'deleted';
  readonly domainId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly token: string;
  readonly createdAt: string;
  /** Last verification; null while pending. */
  readonly verification: { readonly method: VerificationMethod; readonly verifiedAt: string } | null;
  readonly trouble: DomainTrouble | null;
  readonly dkim: DomainDkim;
  /** Presentation of the sender on pages for recipients; null to use only the domain's name. */
  readonly branding: Branding | null;
  /** Default for its mail; messages can override it. */
  readonly tracking: Tracking;
  /** `mx`: mail to addresses of the domain is received here. */
  readonly inbound: { readonly mx: boolean };
}

export type SendingDomain = { readonly status: 'absent' } | ExistingSendingDomain;

/**
 * Derived from organization and name, so that the log itself rejects a second registration by the same organization.
 */
export const sendingDomainId = (organizationId: string, name: string): string =>
  formatId('dom', sha256(`${organizationId}\0${name}`));

/** The TXT record that proves ownership. */
export const verificationRecord = (domain: { name: string; token: string }): { host: string; value: string } => ({
  host: `_outbox.${domain.name}`,
  value: `outbox-verification=${domain.token}`,
});

export const DOMAIN_LIVES = ['pending', 'verified', 'degraded', 'failed'] as const;
type DomainLife = (typeof DOMAIN_LIVES)[number];

/** State of a domain. A verification by capture is valid only while mail is captured; records do not matter then. */
export const lifeOf = ({ verification, trouble }: ExistingSendingDomain, capturing: boolean): DomainLife => {
  if (verification === null || (!capturing && verification.method !== 'dns')) return 'pending';
  return capturing || trouble === null ? 'verified' : trouble.status;
};

/** Whether live mail may be sent from the domain. */
export const isVerified = (domain: ExistingSendingDomain, capturing: boolean): boolean => {
  const life = lifeOf(domain, capturing);
  return life === 'verified' || life === 'degraded';
};

export const sendingDomain: Aggregate<SendingDomain, SendingDomainEvent> = {
  category: CATEGORIES.domain,
  initial: { status: 'absent' },
  evolve: (state, event, { organizationId, occurredAt }) => {
    if (event.type === 'DomainRegistered') {
      const { dkim: keys, ...data } = event.data;
      const dkim = firstDkim(keys, occurredAt);
      const checked = {
        organizationId,
        createdAt: occurredAt,
        verification: null,
        trouble: null,
        dkim,
        branding: null,
        tracking: NO_TRACKING,
        inbound: { mx: false },
      };
      return { status: 'registered', ...data, ...checked };
    }
    if (state.status === 'absent') return state;
    switch (event.type) {
      case 'DomainDeleted':
        return { ...state, status: 'deleted', verification: null, trouble: null };
      case 'DomainVerified':
        return { ...state, verification: { method: event.data.method, verifiedAt: occurredAt }, trouble: null };
      case 'DomainDegraded':
        return { ...state, trouble: { status: 'degraded', since: occurredAt, failsAt: event.data.failsAt } };
      case 'DomainFailed':
        return { ...state, trouble: { status: 'failed', since: occurredAt } };
      case 'DkimKeysAdded':
        return { ...state, dkim: addDkim(state.dkim, event.data.keys, occurredAt) };
      case 'DkimKeysActivated':
        return { ...state, dkim: activateDkim(state.dkim, event.data, occurredAt) };
      case 'DomainBrandingChanged':
        return { ...state, branding: event.data.branding };
      case 'DomainTrackingChanged':
        return { ...state, tracking: event.data.tracking };
      case 'InboundEnabled':
      case 'InboundDisabled':
        return { ...state, inbound: { mx: event.type === 'InboundEnabled' } };
      case 'DkimKeysDestroyed':
        return state; // the state no longer contains these keys
      default:
        return event satisfies never;
    }
  },
};

/**
 * Returns the domain if it belongs to the caller and was not deleted.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const requireOwnDomain = (state: SendingDomain, organizationId: string): ExistingSendingDomain => {
  const domain = requireOwn(state, organizationId, 'domain');
  if (domain.status === 'deleted') throw new DomainError('not_found', 'domain not found');
  return domain;
};

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

interface DomainDkim {
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

const firstDkim = (keys: readonly DkimKey[], addedAt: string): DomainDkim =>
  addDkim({ active: null, pending: null, retired: [] }, keys, addedAt);

const addDkim = (dkim: DomainDkim, keys: readonly DkimKey[], addedAt: string): DomainDkim => ({
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
const activateDkim = (
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

interface RegisterDomain {
  readonly domainId: string;
  readonly name: string;
  readonly token: string;
  readonly dkim: readonly DkimKey[];
  /** Whether another organization has verified the name. */
  readonly takenByAnother: boolean;
  /** Whether anyone can register names below it. Absent: no. */
  readonly isPublicSuffix?: boolean;
  /** Absent: it receives no mail. */
  readonly inbound?: ExistingSendingDomain['inbound'] | undefined;
}

/**
 * Registers a domain. A deleted one may be registered again.
 * @throws {DomainError} `domain_already_exists`, `domain_is_public_suffix`.
 */
export const registerDomain = (
  state: SendingDomain,
  { takenByAnother, isPublicSuffix, dkim, inbound, ...domain }: RegisterDomain,
): readonly SendingDomainEvent[] => {
  if (isPublicSuffix === true) {
    throw new DomainError(
      'domain_is_public_suffix',
      `${domain.name} is a public suffix: add a domain below it that you own`,
    );
  }
  if (state.status === 'registered') {
    throw new DomainError('domain_already_exists', `domain ${domain.name} already exists in your organization`);
  }
  if (takenByAnother) {
    throw new DomainError(
      'domain_already_exists',
      `another organization has already verified the domain ${domain.name}`,
    );
  }
  const registered: SendingDomainEvent = { type: 'DomainRegistered', data: { ...domain, dkim: [...dkim] } };
  const { domainId } = domain;
  return inbound?.mx === true ? [registered, { type: 'InboundEnabled', data: { domainId } }] : [registered];
};

interface RotateDkim {
  readonly organizationId: string;
  readonly keys: readonly DkimKey[];
}

/**
 * Adds new keys to those that sign. They take over once they are seen in the DNS. Earlier pending keys have signed
 * nothing and are dropped.
 * @throws {DomainError} `not_found`, `other_organization`.
 */
export const rotateDkim = (
  state: SendingDomain,
  { organizationId, keys }: RotateDkim,
): readonly SendingDomainEvent[] => {
  const { domainId } = requireOwnDomain(state, organizationId);
  return [{ type: 'DkimKeysAdded', data: { domainId, keys: [...keys] } }];
};

export interface ChangeDomain {
  readonly organizationId: string;
  /** Absent: unchanged. */
  readonly branding?: Branding | null;
  /** Absent fields are unchanged. */
  readonly tracking?: Partial<Tracking>;
  readonly inbound?: ExistingSendingDomain['inbound'];
}

const changeBranding = (
  { domainId, branding: before }: ExistingSendingDomain,
  { branding = before }: ChangeDomain,
): readonly SendingDomainEvent[] => {
  const isSame =
    before?.name === branding?.name && before?.color === branding?.color && before?.logoUrl === branding?.logoUrl;
  return isSame ? [] : [{ type: 'DomainBrandingChanged', data: { domainId, branding } }];
};

const changeTracking = (
  { domainId, tracking: before }: ExistingSendingDomain,
  { tracking: wanted }: ChangeDomain,
): readonly SendingDomainEvent[] => {
  const tracking = { ...before, ...wanted };
  const isSame = tracking.opens === before.opens && tracking.clicks === before.clicks;
  return isSame ? [] : [{ type: 'DomainTrackingChanged', data: { domainId, tracking } }];
};

const changeInbound = (
  { domainId, inbound: before }: ExistingSendingDomain,
  { inbound: wanted = before }: ChangeDomain,
): readonly SendingDomainEvent[] =>
  wanted.mx === before.mx ? [] : [{ type: wanted.mx ? 'InboundEnabled' : 'InboundDisabled', data: { domainId } }];

/** Changes settings. Equal values are no change. @throws {DomainError} `not_found`, `other_organization`. */
export const changeDomain = (state: SendingDomain, command: ChangeDomain): readonly SendingDomainEvent[] => {
  const domain = requireOwnDomain(state, command.organizationId);
  return [...changeBranding(domain, command), ...changeTracking(domain, command), ...changeInbound(domain, command)];
};

interface DeleteDomain {
  readonly by: KeyAuthority;
  readonly organizationId: string;
  /** Keys that are bound to the domain and end with it. */
  readonly keys: readonly ExistingApiKey[];
}

/**
 * Deletes the domain, ends its keys and frees its name.
 * @throws {DomainError} `not_found`, `other_organization`; `permission_missing` if it would end a key that the caller
 * may not change.
 */
export const deleteDomain = (
  state: SendingDomain,
  { by, organizationId, keys }: DeleteDomain,
): readonly SendingDomainEvent[] => {
  const { domainId, name } = requireOwnDomain(state, organizationId);
  for (const key of keys) requireKeyAuthority(by, key);
  return [{ type: 'DomainDeleted', data: { domainId, name } }];
};

/** Verifies without proof while mail is captured. Emits nothing if the domain is already verified. */
export const verifyByCapture = (domain: ExistingSendingDomain): readonly SendingDomainEvent[] =>
  lifeOf(domain, true) === 'verified'
    ? []
    : [{ type: 'DomainVerified', data: { domainId: domain.domainId, name: domain.name, method: 'capture' } }];

/** A key that no longer signs mail, whose private half is still in the vault. */
interface FormerKey {
  readonly selector: string;
  readonly secretId: string;
  /** Time after which no mail can need it (ISO 8601). */
  readonly neededUntil: string;
}

/** A domain, registered or deleted, with its former keys. */
export interface DomainWithFormerKeys {
  readonly domain: SendingDomain;
  readonly former: readonly FormerKey[];
}

/**
 * Retention of a key that was given up without a successor, because a worker that does not know yet may be sending
 * mail. Higher: keeps an unneeded key. Lower: such mail has to wait for another attempt.
 */
const KEPT_MS = 24 * 3_600_000;

const keysOf = (domain: SendingDomain): readonly DkimKey[] => {
  if (domain.status !== 'registered') return [];
  const { active, pending } = domain.dkim;
  return [...(active?.keys ?? []), ...(pending?.keys ?? [])];
};

/** After a switch to another pair, the time until which the records of the previous pair are needed. */
const neededUntil = (event: SendingDomainEvent, occurredAt: string): string => {
  const overlap = event.type === 'DkimKeysActivated' ? event.data.safeToRemoveAt : null;
  return overlap ?? new Date(Date.parse(occurredAt) + KEPT_MS).toISOString();
};

/**
 * Folds a domain's stream into the keys that it gave up: rotated keys, keys that never signed, and all keys on
 * deletion.
 */
export const formerKeys: Aggregate<DomainWithFormerKeys, SendingDomainEvent> = {
  category: sendingDomain.category,
  initial: { domain: sendingDomain.initial, former: [] },
  evolve: ({ domain: before, former }, event, context) => {
    const domain = sendingDomain.evolve(before, event, context);
    if (event.type === 'DkimKeysDestroyed') {
      const gone = new Set(event.data.keys.map(({ secretId }) => secretId));
      return { domain, former: former.filter(({ secretId }) => !gone.has(secretId)) };
    }
    const kept = new Set(keysOf(domain).map(({ secretId }) => secretId));
    const until = neededUntil(event, context.occurredAt);
    const lost = keysOf(before)
      .filter(({ secretId }) => !kept.has(secretId))
      .map(({ selector, secretId }) => ({ selector, secretId, neededUntil: until }));
    return { domain, former: lost.length === 0 ? former : [...former, ...lost] };
  },
};

/** Keys that are no longer needed. @param now ISO 8601. */
export const unneededKeys = ({ former }: DomainWithFormerKeys, now: string): readonly FormerKey[] =>
  former.filter((key) => key.neededUntil <= now);
