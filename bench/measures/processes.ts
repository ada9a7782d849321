import { Client } from 'pg';
import type { Closers } from '../../src/composition/lifecycle.ts';
import type { Measure } from '../harness/bench.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import type { Line } from '../harness/line.ts';
import { lookWhile } from '../harness/look-while.ts';
import { openApi } from '../harness/open-api.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';

const COUNTS = [1, 2, 4];
/** Total over all processes. */
const CONNECTIONS = 128;
const SECONDS = 3;
const SAMPLE_MS = 10;
const SECOND_MICROS = 1_000_000;

interface LockFigures {
  /**
   * Number of commits. The lock serializes appends, and each commit holds all appends that were waiting in a process.
   */
  readonly commits: number;
  /** Share of the time that the lock was held, 0 to 1. */
  readonly heldShare: number;
}

/** Watches the append lock: the number of releases and the share of time it was held. */
const openLockWatch = async (closers: Closers, databaseUrl: string) => {
  const [listener, sampler] = [new Client(databaseUrl), new Client(databaseUrl)];
  let commits = 0;
  for (const client of [listener, sampler]) {
    await client.connect();
    closers.add('watch of the lock', () => client.end());
  }
  listener.on('notification', () => {
    commits += 1;
  });
  await listener.query('listen event_log');
  const isHeld = async (): Promise<boolean> => {
    const { rowCount } = await sampler.query(
      "select from pg_locks where locktype = 'advisory' and classid = 7881693 and objid = 1 and granted",
    );
    return (rowCount ?? 0) > 0;
  };
  return {
    during: async <T>(work: () => Promise<T>): Promise<readonly [T, LockFigures]> => {
      const before = commits;
      let [held, samples] = [0, 0];
      const result = await lookWhile(work(), SAMPLE_MS, async () => {
        if (await isHeld()) held += 1;
        samples += 1;
      });
      return [result, { commits: commits - before, heldShare: held / Math.max(1, samples) }];
    },
  };
};

/** Accepting with several processes on one PostgreSQL, whose log has a single lock. */
export const processes: Measure = {
  name: 'processes',
  run: async (bench) => {
    const { closers, postgres, rounds } = bench;
    const api = await openApi(bench);
    const load = await openHttpLoad(closers);
    const lock = await openLockWatch(closers, api.databaseUrl);
    const servers: Awaited<ReturnType<typeof api.start>>[] = [];
    while (servers.length < Math.max(...COUNTS)) servers.push(await api.start('durable'));

    const fleets = COUNTS.map((count) => {
      const fleet = servers.slice(0, count);
      const meter = createCpuMeter({
        ...Object.fromEntries(fleet.map(({ pid }, index) => [`server ${index + 1}`, { pid, children: false }])),
        PostgreSQL: { pid: postgres.pid, children: true },
        load: { pid: load.pid, children: false },
      });
      const locks: LockFigures[] = [];
      const send = async (): Promise<number> => {
        const each = { key: api.key, bodies: SAMPLE_REQUESTS, connections: CONNECTIONS / count };
        const sent = await Promise.all(
          fleet.map(({ baseUrl }) => load.run({ ...each, baseUrl, extent: { seconds: SECONDS } })),
        );
        return sent.reduce((sum, { accepted }) => sum + accepted, 0);
      };
      const accept = async (): Promise<number> => {
        const [accepted, figures] = await lock.during(() => meter.during(send, (sum) => sum));
        locks.push(figures);
        return accepted / SECONDS;
      };
      return { count, accept, meter, locks };
    });

    const figures = await interleave(
      { rounds, warmUps: 1 },
      Object.fromEntries(fleets.map(({ count, accept }) => [String(count), accept])),
    );
    const one = { what: 'one process', rounds: figures['1'] ?? [] };
    return fleets.flatMap(({ count, meter, locks }): readonly Line[] => {
      const measure = `accept, ${count === 1 ? 'one process' : `${count} processes`}`;
      const measured = locks.slice(-rounds);
      return [
        {
          measure,
          unit: 'requests/s',
          rounds: figures[String(count)] ?? [],
          ...(count === 1 ? {} : { limit: one }),
          cpuMicros: meter.lastMicros(rounds),
        },
        {
          measure: `${measure}: lock of the log, for a commit`,
          unit: 'µs',
          rounds: measured.map(({ commits, heldShare }) => (heldShare * SECONDS * SECOND_MICROS) / commits),
        },
        {
          measure: `${measure}: lock of the log, of the time`,
          unit: '%',
          rounds: measured.map(({ heldShare }) => 100 * heldShare),
        },
      ];
    });
  },
};
