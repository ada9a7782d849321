import type { SendingDomainEvent } from '../../domain/events.ts';
import { idOf, type RecordedEvent } from '../../domain/ports/event-store.ts';
import { type DomainWithFormerKeys, formerKeys, needless } from '../../domain/sending-domain/former-keys.ts';

/** Domains with keys that they had, as the log has it. */
export interface FormerKeysOfDomains {
  /** Takes the next event of the family. */
  apply(event: RecordedEvent): void;
  /** Ids of domains with keys that nobody needs any more. @param now ISO 8601. */
  due(now: string): readonly string[];
}

export const createFormerKeysOfDomains = (): FormerKeysOfDomains => {
  const domains = new Map<string, DomainWithFormerKeys>();

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = domains.get(id) ?? formerKeys.initial;
      // A stream of the category holds events of its family only.
      const after = formerKeys.evolve(before, event as RecordedEvent<SendingDomainEvent>, event.metadata);
      if (after.domain.status === 'registered' || after.former.length > 0) domains.set(id, after);
      else domains.delete(id);
    },
    due: (now) => [...domains].filter(([, state]) => needless(state, now).length > 0).map(([id]) => id),
  };
};
