import {
  categoryOf,
  type EventStore,
  LOG_START,
  type Position,
  type RecordedEvent,
} from '../domain/ports/event-store.ts';
import { readFamilies } from '../domain/read-families.ts';
import type { Work } from './supervise.ts';

/** What a process keeps in memory of a family of events, as the end of the log has it. */
export interface Memory {
  readonly category: string;
  apply(event: RecordedEvent): void;
  /** After events of the family were applied. */
  onChange?(): void;
}

export interface Remembering {
  readonly work: Work;
  /** Resolves once everything is remembered that the log held at the start. Never fails. */
  readonly caughtUp: Promise<void>;
}

/** One follower for all memories: each that a log has costs it queries whenever anything is appended. */
export const remember = (
  store: Pick<EventStore, 'head' | 'readAll' | 'subscribe'>,
  memories: readonly Memory[],
): Remembering => {
  const filter = { categories: memories.map(({ category }) => category) };
  const { promise: caughtUp, resolve } = Promise.withResolvers<void>();
  let position: Position = LOG_START;

  const take = (events: readonly RecordedEvent[], until: Position): void => {
    for (const { category, apply, onChange } of memories) {
      const theirs = events.filter(({ stream }) => categoryOf(stream) === category);
      for (const event of theirs) apply(event);
      if (theirs.length > 0) onChange?.();
    }
    position = until;
  };

  const catchUp = async (signal: AbortSignal): Promise<void> => {
    const request = { categories: filter.categories, from: position, to: await store.head(), signal };
    for await (const page of readFamilies(store, request)) take(page.events, page.position);
    if (!signal.aborted) resolve();
  };

  return {
    caughtUp,
    work: async (signal, working) => {
      await catchUp(signal);
      for await (const page of store.subscribe(position, filter, signal)) {
        take(page.events, page.position);
        working();
      }
    },
  };
};
