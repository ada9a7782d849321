import { type Closers, createClosers } from '../../src/composition/lifecycle.ts';
import type { Bench } from './bench.ts';
import { settle } from './durable-postgres.ts';
import { openStore } from './open-store.ts';
import { fillLog } from './realistic-log.ts';

/** A migrated database with a log of tens of thousands of messages. */
export interface Corpus {
  readonly url: string;
  readonly events: number;
}

/** Size of the log that every run reads. */
export const CORPUS_EVENTS = 100_000;

/** Created for the first measurement that needs this many events and then shared. */
export const createCorpus = (bench: Pick<Bench, 'system' | 'logger' | 'postgres'>, runClosers: Closers) => {
  const make = async (eventsMin: number): Promise<Corpus> => {
    const url = await bench.postgres.migratedDatabase(runClosers);
    const closers = createClosers(bench.logger);
    const store = await openStore(bench, closers, url);
    const events = await fillLog(store, bench.system, eventsMin).finally(closers.closeAll);
    await settle(url);
    return { url, events };
  };
  const made = new Map<number, Promise<Corpus>>();
  return (eventsMin: number = CORPUS_EVENTS): Promise<Corpus> => {
    const corpus = made.get(eventsMin) ?? make(eventsMin);
    made.set(eventsMin, corpus);
    return corpus;
  };
};
