import { activeSigningKeys } from '../../commands/sending-domain/dkim-keys.ts';
import type { DomainRecordsEvent, SendingDomainEvent } from '../../domain/events.ts';
import type { SigningKey } from '../../domain/ports/dkim-keys.ts';
import { idOf, type RecordedEvent } from '../../domain/ports/event-store.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { returnPathHost } from '../../domain/sending-domain/records-to-publish.ts';
import { type ExistingSendingDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';

/** Sending domains as of some position of the log: what their mail is signed with, and where it comes back to. */
export interface SenderDomains {
  /** Takes the next event of a domain's stream. */
  apply(event: RecordedEvent): void;
  /** Takes the next event of what was seen of a domain in the DNS. */
  applyRecords(event: RecordedEvent): void;
  /** None where no key's record was seen yet and mail leaves. @throws {Error} the vault lacks one, or cannot be asked. */
  keysOf(domainId: string): Promise<readonly SigningKey[]>;
  /** The domain's own name for where undelivered mail comes back to; null: it has none that leads here. */
  returnHostOf(domainId: string): string | null;
}

export interface SenderDomainsOptions {
  readonly secrets: Pick<Secrets, 'get'>;
  /** Mail is captured, and signed as if all records were published. Absent: it leaves. */
  readonly capturing?: boolean | undefined;
}

export const createSenderDomains = ({ secrets, capturing }: SenderDomainsOptions): SenderDomains => {
  const domains = new Map<string, ExistingSendingDomain>();
  /** Ids of domains whose return path was seen to lead here. */
  const returning = new Set<string>();

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = domains.get(id) ?? sendingDomain.initial;
      // A stream of a category holds events of its family only.
      const after = sendingDomain.evolve(before, event as RecordedEvent<SendingDomainEvent>, event.metadata);
      if (after.status === 'registered') domains.set(id, after);
      else domains.delete(id);
    },
    applyRecords: ({ stream, data }) => {
      const { records } = data as DomainRecordsEvent['data']; // the same of this one
      const isValid = records.some(({ kind, state }) => kind === 'return_path' && state === 'valid');
      if (isValid) returning.add(idOf(stream));
      else returning.delete(idOf(stream));
    },
    keysOf: async (domainId) => {
      const domain = domains.get(domainId);
      return domain === undefined ? [] : activeSigningKeys(domain, secrets, capturing);
    },
    returnHostOf: (domainId) => {
      const domain = domains.get(domainId);
      return domain === undefined || !returning.has(domainId) ? null : returnPathHost(domain.name);
    },
  };
};
