import { type Closers, createClosers } from '../../src/composition/closers.ts';
import type { Bench } from './bench.ts';
import { settle } from './durable-postgres.ts';
import { openStore } from './open-store.ts';
import { fillLog } from './realistic-log.ts';

/** A migrated database whose log tells of tens of thousands of messages. */
export interface Corpus {
  readonly url: string;
  readonly events: number;
}

const EVENTS_MIN = 100_000;

/** Made by the first measure that asks, and kept for the others: all read the same. */
export const createCorpus = (bench: Pick<Bench, 'system' | 'logger' | 'postgres'>, runClosers: Closers) => {
  const make = async (): Promise<Corpus> => {
    const url = await bench.postgres.migratedDatabase(runClosers);
    const closers = createClosers(bench.logger);
    const store = await openStore(bench, closers, url);
    const events = await fillLog(store, bench.system, EVENTS_MIN).finally(closers.closeAll);
    await settle(url);
    return { url, events };
  };
  let made: Promise<Corpus> | undefined;
  return (): Promise<Corpus> => {
    made ??= make();
    return made;
  };
};
