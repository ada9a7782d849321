import type { ExistingApiKey } from '../api-key/api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from '../api-key/key-authority.ts';
import { DomainError } from '../kernel/errors.ts';
import type { SendingDomainEvent } from '../kernel/events.ts';
import type { Tracking } from '../tracking/tracking.ts';
import type { Branding, DkimKey } from './events.ts';
import { type ExistingSendingDomain, lifeOf, requireOwnDomain, type SendingDomain } from './sending-domain.ts';

export interface RegisterDomain {
  readonly domainId: string;
  readonly name: string;
  readonly token: string;
  readonly dkim: readonly DkimKey[];
  /** Whether another organization has verified the name. */
  readonly takenByAnother: boolean;
  /** Whether anyone can register names below it. Absent: no. */
  readonly isPublicSuffix?: boolean;
}

/**
 * Registers a domain. A deleted one may be registered again.
 * @throws {DomainError} `domain_already_exists`, `domain_is_public_suffix`.
 */
export const registerDomain = (
  state: SendingDomain,
  { takenByAnother, isPublicSuffix, dkim, ...domain }: RegisterDomain,
): readonly SendingDomainEvent[] => {
  if (isPublicSuffix === true) {
    throw new DomainError(
      'domain_is_public_suffix',
      `${domain.name} is a public suffix: register a name below it that is your own`,
    );
  }
  if (state.status === 'registered') {
    throw new DomainError('domain_already_exists', `domain ${domain.name} already exists in your organization`);
  }
  if (takenByAnother) {
    throw new DomainError(
      'domain_already_exists',
      `domain ${domain.name} already exists: another organization verified it`,
    );
  }
  return [{ type: 'DomainRegistered', data: { ...domain, dkim: [...dkim] } }];
};

export interface RotateDkim {
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

/** Changes settings. Equal values are no change. @throws {DomainError} `not_found`, `other_organization`. */
export const changeDomain = (state: SendingDomain, command: ChangeDomain): readonly SendingDomainEvent[] => {
  const domain = requireOwnDomain(state, command.organizationId);
  return [...changeBranding(domain, command), ...changeTracking(domain, command)];
};

export interface DeleteDomain {
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
