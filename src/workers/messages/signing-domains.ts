import { activeSigningKeys } from '../../commands/sending-domain/signing-keys.ts';
import { idOf, type RecordedEvent } from '../../domain/event-store.ts';
import type { SendingDomainEvent } from '../../domain/events.ts';
import type { Secrets } from '../../domain/secrets.ts';
import { type SendingDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import type { SigningKey } from '../../domain/signing-key.ts';

/** Sending domains as of some position of the log, for the keys that their mail is signed with. */
export interface SigningDomains {
  /** Takes the next event of a domain's stream. */
  apply(event: RecordedEvent): void;
  /** None where no key's record was seen yet. @throws {Error} the vault lacks one, or cannot be asked. */
  keysOf(domainId: string): Promise<readonly SigningKey[]>;
}

export const createSigningDomains = (secrets: Pick<Secrets, 'get'>): SigningDomains => {
  const domains = new Map<string, SendingDomain>();
  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = domains.get(id) ?? sendingDomain.initial;
      // A stream of a category holds events of its family only.
      domains.set(id, sendingDomain.evolve(before, event as RecordedEvent<SendingDomainEvent>, event.metadata));
    },
    keysOf: async (domainId) => {
      const domain = domains.get(domainId) ?? sendingDomain.initial;
      return domain.status === 'registered' ? activeSigningKeys(domain, secrets) : [];
    },
  };
};
