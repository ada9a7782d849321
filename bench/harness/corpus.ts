import { type Closers, createClosers } from '../../src/composition/lifecycle.ts';
import type { Bench } from './bench.ts';
import { settle } from './durable-postgres.ts';
import { openStore } from './open-store.ts';
import { fillLog } from './realistic-log.ts';

/** A migrated database whose log tells of tens of thousands of messages. */
export interface Corpus {
  readonly url: string;
  readonly events: number;
}

/** Of what every run reads. */
export const CORPUS_EVENTS = 100_000;

/** Made by the first measure that asks for so many events, and kept for the others: all read the same. */
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
