import type { EventStore } from '../domain/kernel/event-store.ts';
import type { Progress } from './terminal.ts';

/** Log positions in PostgreSQL, which count the events. */
const COUNTS = /^\d{16}$/;

/** Reports progress while the whole log is read. Only PostgreSQL knows the total number of events. */
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
