import { auditor, type ExistingAuditor } from '../domain/audit/audit.ts';
import {
  categoryOf,
  type EventStore,
  idOf,
  LOG_START,
  type Position,
  type RecordedEvent,
  readFamilies,
} from '../domain/kernel/event-store.ts';
import type { AuditorEvent, OrganizationEvent } from '../domain/kernel/events.ts';
import { type Organization, organization } from '../domain/organization/organization.ts';
import type { Work } from './supervise.ts';

/** A live view in memory of one family of events. */
interface InMemoryProjection {
  readonly category: string;
  apply(event: RecordedEvent): void;
  /** Called after events of the family were applied. */
  onChange?(): void;
}

interface InMemoryProjections {
  /** Follows the log; goes on where it was when it is started again. */
  readonly work: Work;
  /** Resolves once everything is applied that the log held at the start; rejects if the work ends before. */
  readonly caughtUp: Promise<void>;
}

/** One follower of the log for all of them: each follower costs the log queries whenever anything is appended. */
export const createInMemoryProjections = (
  store: Pick<EventStore, 'head' | 'readAll' | 'subscribe'>,
  projections: readonly InMemoryProjection[],
): InMemoryProjections => {
  const filter = { categories: projections.map(({ category }) => category) };
  const { promise: caughtUp, resolve, reject } = Promise.withResolvers<void>();
  // Prevents an unhandled rejection if no caller waits for it.
  caughtUp.catch(() => undefined);
  let position: Position = LOG_START;

  const applyAll = (events: readonly RecordedEvent[], until: Position): void => {
    for (const { category, apply, onChange } of projections) {
      const own = events.filter(({ stream }) => categoryOf(stream) === category);
      for (const event of own) apply(event);
      if (own.length > 0) onChange?.();
    }
    position = until;
  };

  const catchUp = async (signal: AbortSignal): Promise<void> => {
    const request = { categories: filter.categories, from: position, to: await store.head(), signal };
    for await (const page of readFamilies(store, request)) applyAll(page.events, page.position);
    if (!signal.aborted) resolve();
  };

  return {
    caughtUp,
    work: async (signal, working) => {
      try {
        await catchUp(signal);
        for await (const page of store.subscribe(position, filter, signal)) {
          applyAll(page.events, page.position);
          working();
        }
      } finally {
        if (signal.aborted) reject(new Error('the service ends before its in-memory projections have caught up'));
      }
    },
  };
};

/** By id. It may be behind the log: read there what cannot be undone. */
export type Organizations = ReadonlyMap<string, Organization>;

/** In-memory projection of all organizations. */
export const createOrganizations = (): InMemoryProjection & { readonly organizations: Organizations } => {
  const organizations = new Map<string, Organization>();
  return {
    category: organization.category,
    organizations,
    apply: (event) => {
      const id = idOf(event.stream);
      const of = event as RecordedEvent<OrganizationEvent>; // of its category
      organizations.set(id, organization.evolve(organizations.get(id) ?? organization.initial, of, of.metadata));
    },
  };
};

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
