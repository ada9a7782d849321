import { DomainError } from '../domain-error.ts';
import type { SendingDomainEvent } from '../events.ts';
import type { DkimKey } from './events.ts';
import type { SendingDomain } from './sending-domain.ts';

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
