import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import {
  type Append,
  type AppendResult,
  type EventStore,
  LOG_START,
  type RecordedEvent,
} from '../../../src/domain/kernel/event-store.ts';
import type { Contents } from '../../../src/domain/ports/contents.ts';
import { createInMemoryEventStore } from '../../../test/support/in-memory-event-store.ts';
import type { Ground } from '../ground.ts';

/** An event with its append time and process. */
export interface LogEntry {
  readonly event: RecordedEvent;
  readonly atMs: number;
  readonly writer: string;
}

/** The log itself, shared by all processes. */
export interface Log {
  readonly store: EventStore;
  append(append: Append, writer: string): Promise<AppendResult>;
  events(): readonly LogEntry[];
  /** Called once per append. @returns a function that unsubscribes. */
  onAppend(listener: () => void): () => void;
  /** Called for each event, in order, before `onAppend`. */
  onEvent(listener: (entry: LogEntry) => void): void;
}

const PAGE = 1000;

export const createLog = ({ random, scheduler, trace }: Ground, contents: Contents): Log => {
  const store = createInMemoryEventStore({ codec: eventCodec, system: { uuid: random.uuid }, contents });
  const events: LogEntry[] = [];
  const listeners = new Set<() => void>();
  const readers: ((entry: LogEntry) => void)[] = [];

  const takeIn = (event: RecordedEvent, writer: string): void => {
    const logged = { event, atMs: scheduler.nowMs(), writer };
    trace.note(logged.atMs, `log ${event.type} ${event.stream} ${event.id}`);
    events.push(logged);
    for (const read of readers) read(logged);
  };

  const takeInAll = async (writer: string): Promise<void> => {
    const from = events.at(-1)?.event.position ?? LOG_START;
    const page = await store.readAll({ from, limit: PAGE });
    if (page.events.length === 0) return;
    for (const event of page.events) takeIn(event, writer);
    for (const listener of listeners) listener();
  };

  return {
    store,
    append: async (append, writer) => {
      const appended = await store.append(append);
      await takeInAll(writer);
      return appended;
    },
    events: () => events,
    onAppend: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onEvent: (listener) => {
      readers.push(listener);
    },
  };
};
