import { auditor, type ExistingAuditor } from '../../domain/audit/audit.ts';
import { idOf, type RecordedEvent } from '../../domain/kernel/event-store.ts';
import type { AuditorEvent } from '../../domain/kernel/events.ts';
import type { InMemoryProjection } from '../in-memory-projections.ts';

/** By id, removed ones too: the vault may still hold who they are. It may be behind the log. */
export type Auditors = ReadonlyMap<string, ExistingAuditor>;

/** In-memory projection of all auditors. */
export const createAuditors = (): InMemoryProjection & { readonly auditors: Auditors } => {
  const auditors = new Map<string, ExistingAuditor>();
  return {
    category: auditor.category,
    auditors,
    apply: (event) => {
      const id = idOf(event.stream);
      const of = event as RecordedEvent<AuditorEvent>; // of its category
      const after = auditor.evolve(auditors.get(id) ?? auditor.initial, of, of.metadata);
      if (after.status !== 'absent') auditors.set(id, after);
    },
  };
};
