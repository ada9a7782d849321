import { DomainError } from '../domain-error.ts';
import type { DomainNameEvent, SendingDomainEvent } from '../events.ts';
import { type DomainName, isTakenByAnother } from './domain-name.ts';
import type { VerificationMethod } from './events.ts';
import { type ExistingSendingDomain, lifeOf } from './sending-domain.ts';

export interface TakeName {
  readonly name: string;
  readonly domainId: string;
  readonly method: VerificationMethod;
  readonly formerHolder: string | null;
}

/** The name goes to the first domain that proves it. @throws {DomainError} `domain_already_exists`. */
export const takeName = (state: DomainName, { formerHolder, ...claim }: TakeName): readonly DomainNameEvent[] => {
  if (isTakenByAnother(state, { ...claim, capturing: claim.method === 'capture', formerHolder })) {
    throw new DomainError(
      'domain_already_exists',
      `domain ${claim.name} already exists: another organization verified it`,
    );
  }
  if (state.status === 'taken' && state.domainId === claim.domainId && state.method === claim.method) return [];
  return [{ type: 'DomainNameTaken', data: { ...claim } }];
};

/** While mail is captured nothing has to be proved. Verified once; a verification that counts is not repeated. */
export const verifyByCapture = (domain: ExistingSendingDomain): readonly SendingDomainEvent[] =>
  lifeOf(domain, true) === 'verified'
    ? []
    : [{ type: 'DomainVerified', data: { domainId: domain.domainId, name: domain.name, method: 'capture' } }];
