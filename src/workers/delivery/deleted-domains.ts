import type { ExistingMessage } from '../../domain/message/message.ts';
import type { RecordedEvent } from '../../domain/ports/event-store.ts';

/** Sending domains that were deleted, as of some position of the log: as many as there were deletions, ever. */
export interface DeletedDomains {
  /** Takes the next event of the log; those of other families change nothing. */
  apply(event: RecordedEvent): void;
  /**
   * Whether the domain that a message was accepted for is gone. Registered again it is another one: messages accepted
   * since then are its own, earlier ones are not.
   */
  has(message: Pick<ExistingMessage, 'accepted' | 'acceptedAt'>): boolean;
  /** Whether it is gone, and was not registered again. */
  isGone(domainId: string): boolean;
}

export const createDeletedDomains = (): DeletedDomains => {
  /** By id: since when it is registered again (ISO 8601); null: it is not. */
  const deleted = new Map<string, string | null>();

  return {
    apply: ({ type, data, metadata }) => {
      if (type === 'DomainDeleted') deleted.set(data.domainId, null);
      if (type === 'DomainRegistered' && deleted.has(data.domainId)) deleted.set(data.domainId, metadata.occurredAt);
    },
    has: ({ accepted, acceptedAt }) => {
      const again = deleted.get(accepted.domainId);
      return again !== undefined && (again === null || acceptedAt < again);
    },
    isGone: (domainId) => deleted.get(domainId) === null,
  };
};
