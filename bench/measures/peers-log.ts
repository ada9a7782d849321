import type { Bench } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import type { Line } from '../harness/line.ts';
import { openStore } from '../harness/open-store.ts';
import { throughput } from '../harness/throughput.ts';
import { openEmmett } from '../peers/emmett.ts';
import { sampleAppends } from '../peers/sample-appends.ts';

const FLOOR = { of: 'ratio', atLeast: 3.5 } as const;
const CONCURRENCY = 32;
const ROUND_MS = 1_000;

/** Appends of one event to new streams, compared with another event store on the same server. */
export const logBesideEmmett = async (bench: Bench): Promise<readonly Line[]> => {
  const { postgres, closers, system, rounds } = bench;
  const store = await openStore(bench, closers, await postgres.migratedDatabase(closers));
  const emmett = await openEmmett(closers, await postgres.emptyDatabase(closers));
  const samples = sampleAppends(system);
  const ours = async (): Promise<number> => {
    await store.append(samples.next(1));
    return 1;
  };
  const theirs = (): Promise<number> => emmett.append(samples.next(1));
  const at = (work: () => Promise<number>) => () => throughput({ concurrency: CONCURRENCY, ms: ROUND_MS, work });
  const figures = await interleave({ rounds, warmUps: 1 }, { ours: at(ours), peer: at(theirs) });
  return [
    {
      measure: `append, ${CONCURRENCY} concurrent, and a peer`,
      unit: 'events/s',
      rounds: figures.ours,
      limit: { what: 'emmett-postgresql', rounds: figures.peer },
      floor: FLOOR,
    },
  ];
};
