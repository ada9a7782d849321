import type { ExistingApiKey } from '../api-key/api-key.ts';
import { type KeyAuthority, requireKeyAuthority } from '../api-key/key-authority.ts';
import { DomainError } from '../domain-error.ts';
import type { SendingDomainEvent } from '../events.ts';
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
  /** Whether names below it are registered by anybody. Absent: they are not. */
  readonly isPublicSuffix?: boolean;
}

/** A domain that was deleted may be registered again. @throws {DomainError} `domain_already_exists`, `domain_is_public_suffix`. */
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
 * Gives the domain new keys beside those that sign; they take over once they are seen in the DNS. Keys that wait for
 * that already have signed nothing and are forgotten.
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
  /** Absent: it stays as it is. */
  readonly branding?: Branding | null;
  /** What is absent stays as it is. */
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

/** Settings that it has already change nothing. @throws {DomainError} `not_found`, `other_organization`. */
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
 * Ends the domain, the keys bound to it, and its hold on the name.
 * @throws {DomainError} `not_found`, `other_organization`; `permission_missing` where it would end a key that the caller may
 * not touch.
 */
export const deleteDomain = (
  state: SendingDomain,
  { by, organizationId, keys }: DeleteDomain,
): readonly SendingDomainEvent[] => {
  const { domainId, name } = requireOwnDomain(state, organizationId);
  for (const key of keys) requireKeyAuthority(by, key);
  return [{ type: 'DomainDeleted', data: { domainId, name } }];
};

/** While mail is captured nothing has to be proved. Verified once; a verification that counts is not repeated. */
export const verifyByCapture = (domain: ExistingSendingDomain): readonly SendingDomainEvent[] =>
  lifeOf(domain, true) === 'verified'
    ? []
    : [{ type: 'DomainVerified', data: { domainId: domain.domainId, name: domain.name, method: 'capture' } }];
