import type { EventStore } from '../domain/ports/event-store.ts';
import type { Progress } from './terminal.ts';

/** Positions of the log in PostgreSQL count its events. */
const COUNTS = /^\d{16}$/;

/** A log whose events are counted while the whole of it is read. How many there are is known in PostgreSQL alone. */
export const countReads = async <Log extends Pick<EventStore, 'readAll' | 'head'>>(
  log: Log,
  progress: Progress,
): Promise<Log> => {
  const head = await log.head();
  const of = COUNTS.test(head) ? Number(head) : undefined;
  let read = 0;
  return {
    ...log,
    readAll: async (options) => {
      const page = await log.readAll(options);
      read += page.events.length;
      progress.at(read, of, 'events');
      return page;
    },
  };
};
