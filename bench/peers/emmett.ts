import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import type { Closers } from '../../src/composition/lifecycle.ts';
import type { Append } from '../../src/domain/kernel/event-store.ts';

export interface Emmett {
  /** Appends to a new stream. @returns the number of events. */
  append(append: Append): Promise<number>;
}

/** A comparable event store on the same server. */
export const openEmmett = async (closers: Closers, url: string): Promise<Emmett> => {
  const store = getPostgreSQLEventStore(url);
  closers.add('emmett', () => store.close());
  await store.schema.migrate();
  return {
    append: async ({ stream, events }) => {
      const named = events.map(({ type, data }) => ({ type, data }));
      await store.appendToStream(stream, named, { expectedStreamVersion: 'STREAM_DOES_NOT_EXIST' });
      return events.length;
    },
  };
};
