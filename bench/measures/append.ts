import type { Bench, Measure } from '../harness/bench.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import type { Line } from '../harness/line.ts';
import { openStore } from '../harness/open-store.ts';
import { throughput } from '../harness/throughput.ts';
import { openEmmett } from '../peers/emmett.ts';
import { openRawInserts } from '../peers/raw-inserts.ts';
import { sampleAppends } from '../peers/sample-appends.ts';

const ROUND_MS = 1_000;
const SECOND_MS = 1_000;
const SINGLE = [1, 32, 256];
const BATCH_EVENTS = 100;
const BATCHES = [1, 4];
/** Concurrency at which the peer is measured too. */
const PEER_CONCURRENCY = 32;
const RAW_FLOOR = { of: 'ratio', atLeast: 0.8 } as const;
const PEER_FLOOR = { of: 'ratio', atLeast: 3.5 } as const;

/** Appends to the PostgreSQL log, each to its own stream, compared with plain inserts of the same rows. */
export const append: Measure = {
  name: 'append',
  run: async (bench: Bench): Promise<readonly Line[]> => {
    const { postgres, closers, system, rounds } = bench;
    const store = await openStore(bench, closers, await postgres.migratedDatabase(closers));
    const raw = await openRawInserts(closers, await postgres.emptyDatabase(closers));
    const emmett = await openEmmett(closers, await postgres.emptyDatabase(closers));
    const samples = sampleAppends(system);

    const ours = (events: number) => async (): Promise<number> => {
      await store.append(samples.next(events));
      return events;
    };
    const single = (): Promise<number> => raw.insertOne(samples.next(1));
    const batch = (): Promise<number> => raw.insertMany(samples.next(BATCH_EVENTS));
    const peer = (): Promise<number> => emmett.append(samples.next(1));
    const at = (concurrency: number, work: () => Promise<number>) => () =>
      throughput({ concurrency, ms: ROUND_MS, work });

    const cpu = createCpuMeter({
      'this process': { pid: process.pid, children: false },
      PostgreSQL: { pid: postgres.pid, children: true },
    });
    const metered = (concurrency: number, work: () => Promise<number>) => (): Promise<number> =>
      cpu.during(at(concurrency, work), (perSecond) => (perSecond * ROUND_MS) / SECOND_MS);

    const lines: Line[] = [];
    for (const concurrency of SINGLE) {
      const figures = await interleave(
        { rounds, warmUps: 1 },
        { ours: metered(concurrency, ours(1)), limit: at(concurrency, single) },
      );
      const limit = { what: 'pg, a row a commit', rounds: figures.limit };
      lines.push({
        measure: `append, ${concurrency} concurrent`,
        unit: 'events/s',
        rounds: figures.ours,
        limit,
        ...(concurrency === PEER_CONCURRENCY ? { floor: RAW_FLOOR } : {}),
        cpuMicros: cpu.lastMicros(rounds),
      });
    }

    const beside = await interleave(
      { rounds, warmUps: 1 },
      { ours: at(PEER_CONCURRENCY, ours(1)), peer: at(PEER_CONCURRENCY, peer) },
    );
    lines.push({
      measure: `append, ${PEER_CONCURRENCY} concurrent, and a peer`,
      unit: 'events/s',
      rounds: beside.ours,
      limit: { what: 'emmett-postgresql', rounds: beside.peer },
      floor: PEER_FLOOR,
    });

    for (const concurrency of BATCHES) {
      const figures = await interleave(
        { rounds, warmUps: 1 },
        { ours: at(concurrency, ours(BATCH_EVENTS)), limit: at(concurrency, batch) },
      );
      const measure = `append, batches of ${BATCH_EVENTS}, ${concurrency} concurrent`;
      lines.push({
        measure,
        unit: 'events/s',
        rounds: figures.ours,
        limit: { what: 'pg unnest', rounds: figures.limit },
      });
    }
    return lines;
  },
};
