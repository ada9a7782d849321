import type { SendingDomainEvent } from '../../domain/events.ts';
import { idOf, type RecordedEvent } from '../../domain/ports/event-store.ts';
import { nextCheckMs } from '../../domain/sending-domain/domain-records.ts';
import { type ExistingSendingDomain, sendingDomain } from '../../domain/sending-domain/sending-domain.ts';

/** When which domain is to be looked at, as the log has it. */
export interface DomainTimetable {
  /** Takes the next event of the family. */
  apply(event: RecordedEvent): void;
  /** Ids of domains whose time has come, longest due first. @param sinceMs what was due before has been seen to. */
  due(sinceMs: number, nowMs: number): readonly string[];
  /** It was looked at just now. */
  looked(domainId: string, nowMs: number): void;
  /** It could not be looked at: it is due again then. */
  postpone(domainId: string, untilMs: number): void;
}

interface Entry {
  readonly domain: ExistingSendingDomain;
  /** null: not by this process. */
  readonly lookedMs: number | null;
  /** undefined: to be computed. null: never. */
  nextMs: number | null | undefined;
}

/**
 * Which times there are follows from the domains alone, so nothing is kept of when they were looked at but in memory:
 * noting each look would fill the log with what is no news, which every process of the API reads at its start.
 */
export const createDomainTimetable = (): DomainTimetable => {
  const entries = new Map<string, Entry>();

  const nextOf = (entry: Entry, sinceMs: number): number | null => {
    if (entry.nextMs === undefined) {
      entry.nextMs = nextCheckMs(entry.domain, Math.max(entry.lookedMs ?? sinceMs, sinceMs));
    }
    return entry.nextMs;
  };

  return {
    apply: (event) => {
      const id = idOf(event.stream);
      const before = entries.get(id);
      // A stream of the category holds events of its family only.
      const own = event as RecordedEvent<SendingDomainEvent>;
      const domain = sendingDomain.evolve(before?.domain ?? sendingDomain.initial, own, event.metadata);
      if (domain.status !== 'registered') entries.delete(id);
      else entries.set(id, { domain, lookedMs: before?.lookedMs ?? null, nextMs: undefined });
    },

    due: (sinceMs, nowMs) =>
      [...entries]
        .flatMap(([id, entry]) => {
          const nextMs = nextOf(entry, sinceMs);
          return nextMs !== null && nextMs <= nowMs ? [{ id, nextMs }] : [];
        })
        .sort((a, b) => a.nextMs - b.nextMs)
        .map(({ id }) => id),

    looked: (domainId, nowMs) => {
      const entry = entries.get(domainId);
      if (entry !== undefined) entries.set(domainId, { ...entry, lookedMs: nowMs, nextMs: undefined });
    },

    postpone: (domainId, untilMs) => {
      const entry = entries.get(domainId);
      if (entry !== undefined) entry.nextMs = untilMs;
    },
  };
};
