import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import type { Closers } from '../../src/composition/lifecycle.ts';
import type { Append } from '../../src/domain/ports/event-store.ts';

export interface Emmett {
  /** To a new stream. @returns how many events. */
  append(append: Append): Promise<number>;
}

/** A store of the same kind on the same server. */
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
