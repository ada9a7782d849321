import { activeSigningKeys } from '../../commands/sending-domain/change-domain.ts';
import { idOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { DomainRecordsEvent, SendingDomainEvent } from '../../domain/kernel/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { RecordKind } from '../../domain/sending-domain/events.ts';
import { returnPathHost } from '../../domain/sending-domain/records-to-publish.ts';
import {
  type ExistingSendingDomain,
  isVerified,
  type SendingDomain,
  sendingDomain,
} from '../../domain/sending-domain/sending-domain.ts';
import type { SigningKey } from '../../lib/smtp/smtp.ts';

/**
 * In-memory projection of sending domains: what signs their mail, where it comes back to, and which were deleted. It keeps
 * as many deleted ids as there were deletions, ever.
 */
export interface SendingDomains {
  /** Applies an event of the sending domain's own stream. */
  apply(event: RecordedEvent): void;
  /** Applies an event about the domain's DNS records. */
  applyRecords(event: RecordedEvent): void;
  /** None before a key's record was seen, unless mail is captured. @throws {Error} the vault lacks a key or is away. */
  keysOf(domainId: string): Promise<readonly SigningKey[]>;
  /** The domain's own host for undelivered mail; null: it has none that leads here. */
  returnHostOf(domainId: string): string | null;
  /** The domain's name, where its tracking host leads here; null: it does not. */
  trackedNameOf(domainId: string): string | null;
  /**
   * Actor that deleted the domain that a message was accepted for; null: it is not deleted. Registered again it is another
   * domain: messages accepted since then are its own, earlier ones are not.
   */
  deletedBy(message: Pick<ExistingMessage, 'accepted' | 'acceptedAt'>): string | null;
  /** The domain's name; null: it is deleted. */
  nameOf(domainId: string): string | null;
  /** Whether it is deleted and was not registered again. */
  isDeleted(domainId: string): boolean;
  /** The verified domain of that name that receives mail; null: none. */
  receiverOf(name: string): { readonly organizationId: string; readonly domainId: string } | null;
  /** The verified domain of that name, whether or not it receives mail; null: none. Looks through all domains. */
  verifiedOf(name: string): { readonly organizationId: string; readonly domainId: string } | null;
  /** The oldest domain of an organization that may send live mail; null: none may. Looks through all domains. */
  sendableOf(organizationId: string): { readonly id: string; readonly name: string } | null;
}

export interface SendingDomainsOptions {
  readonly secrets: Pick<Secrets, 'get'>;
  /** Mail is captured, and signed as if all records were published. Absent: it leaves. */
  readonly capturing?: boolean | undefined;
}

export const createSendingDomains = ({ secrets, capturing }: SendingDomainsOptions): SendingDomains => {
  const domains = new Map<string, ExistingSendingDomain>();
  /** Ids of domains whose return path was seen to lead here. */
  const returning = new Set<string>();
  /** Ids of domains whose tracking host was seen to lead here. */
  const tracking = new Set<string>();
  /** Ids of domains that receive mail, by name. A verified name belongs to one domain. */
  const receivers = new Map<string, string>();
  /** Deleted domains: by which actor, and when each was registered again (ISO 8601), or null. */
  const deleted = new Map<string, { readonly actor: string; readonly registeredAgain: string | null }>();

  const noteReceiver = (id: string, domain: SendingDomain): void => {
    if (domain.status === 'absent') return;
    const receives = domain.status === 'registered' && domain.inbound.mx && isVerified(domain, capturing === true);
    if (receives) receivers.set(domain.name, id);
    else if (receivers.get(domain.name) === id) receivers.delete(domain.name);
  };

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = domains.get(id) ?? sendingDomain.initial;
      // A stream of a category holds events of its family only.
      const after = sendingDomain.evolve(before, event as RecordedEvent<SendingDomainEvent>, event.metadata);
      if (after.status === 'registered') domains.set(id, after);
      else domains.delete(id);
      noteReceiver(id, after);
      const { actor, occurredAt } = event.metadata;
      if (event.type === 'DomainDeleted') deleted.set(id, { actor, registeredAgain: null });
      const gone = deleted.get(id);
      if (event.type === 'DomainRegistered' && gone) deleted.set(id, { ...gone, registeredAgain: occurredAt });
    },
    applyRecords: ({ stream, data }) => {
      const { records } = data as DomainRecordsEvent['data'];
      const note = (hosts: Set<string>, wanted: RecordKind): void => {
        if (records.some(({ kind, state }) => kind === wanted && state === 'valid')) hosts.add(idOf(stream));
        else hosts.delete(idOf(stream));
      };
      note(returning, 'return_path');
      note(tracking, 'tracking');
    },
    keysOf: async (domainId) => {
      const domain = domains.get(domainId);
      return domain === undefined ? [] : activeSigningKeys(domain, secrets, capturing);
    },
    returnHostOf: (domainId) => {
      const domain = domains.get(domainId);
      return domain === undefined || !returning.has(domainId) ? null : returnPathHost(domain.name);
    },
    trackedNameOf: (domainId) => (tracking.has(domainId) ? (domains.get(domainId)?.name ?? null) : null),
    deletedBy: ({ accepted, acceptedAt }) => {
      const gone = deleted.get(accepted.domainId);
      if (gone === undefined) return null;
      const { actor, registeredAgain } = gone;
      return registeredAgain === null || acceptedAt < registeredAgain ? actor : null;
    },
    verifiedOf: (name) => {
      const isIt = (domain: ExistingSendingDomain): boolean =>
        domain.name === name && isVerified(domain, capturing === true);
      return domains.values().find(isIt) ?? null;
    },
    receiverOf: (name) => {
      const domain = domains.get(receivers.get(name) ?? '');
      return domain === undefined ? null : { organizationId: domain.organizationId, domainId: domain.domainId };
    },
    nameOf: (domainId) => domains.get(domainId)?.name ?? null,
    isDeleted: (domainId) => deleted.get(domainId)?.registeredAgain === null,
    sendableOf: (organizationId) => {
      const [oldest] = [...domains.values()]
        .filter((domain) => domain.organizationId === organizationId && isVerified(domain, capturing === true))
        .sort((left, right) => (left.createdAt < right.createdAt ? -1 : 1));
      return oldest === undefined ? null : { id: oldest.domainId, name: oldest.name };
    },
  };
};
