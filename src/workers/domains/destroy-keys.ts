import { destroyFormerKeys } from '../../commands/sending-domain/change-domain.ts';
import { type EventStore, idOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { SendingDomainEvent } from '../../domain/kernel/events.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { type DomainWithFormerKeys, formerKeys, unneededKeys } from '../../domain/sending-domain/sending-domain.ts';
import type { System } from '../../lib/async/async.ts';
import type { Leadership } from '../leadership.ts';
import { repeat, type Work } from '../supervise.ts';

/** Destroys the private halves of DKIM keys that were replaced, once no mail can still be signed by them. */

/** In-memory projection of domains with keys that they had. */
export interface FormerKeys {
  /** Applies an event of a sending domain. */
  apply(event: RecordedEvent): void;
  /** Ids of domains with unused keys. @param now ISO 8601. */
  due(now: string): readonly string[];
}

export const createFormerKeys = (): FormerKeys => {
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
    due: (now) => [...domains].filter(([, state]) => unneededKeys(state, now).length > 0).map(([id]) => id),
  };
};

export interface DestroyKeys {
  readonly store: EventStore;
  readonly secrets: Secrets;
  readonly formerKeys: Pick<FormerKeys, 'due'>;
  readonly leadership: Pick<Leadership, 'isLeader'>;
  readonly system: System;
}

/** How late it may be. Each look goes through all domains in memory. */
const EVERY_MS = 5_000;
/** Domains of one look, so that a stop does not wait: the rest is due in the next. */
const DOMAINS_MAX = 100;

export const destroyKeys = ({ formerKeys, leadership, ...context }: DestroyKeys): Work =>
  repeat(context.system, async () => {
    if (!leadership.isLeader()) return EVERY_MS;
    const due = formerKeys.due(context.system.now().toISOString()).slice(0, DOMAINS_MAX);
    for (const domainId of due) await destroyFormerKeys(context, domainId);
    return EVERY_MS;
  });
