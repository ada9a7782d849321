import type { Measure } from '../harness/bench.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import { median } from '../harness/line.ts';
import { syncMs } from '../harness/machine.ts';
import { openApi } from '../harness/open-api.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { medianMs } from '../harness/throughput.ts';
import { openRawInserts } from '../peers/raw-inserts.ts';
import { sampleAppends } from '../peers/sample-appends.ts';
import type { HttpLoadResult } from '../processes/http-load.ts';

const BUSY_FLOOR = { of: 'ratio', atLeast: 0.6 } as const;
const LONE_MS_MAX = 1;
/** On a disk so slow that a millisecond cannot be had. */
const LONE_SYNCS_MAX = 2;
const CONNECTIONS = 128;
const BUSY_SECONDS = 3;
const LONE_SECONDS = 2;
const COMMITS_MS = 1_000;

/** `POST /v1/messages/send` beside the very same server whose append and contents are a resolved promise. */
export const accept: Measure = {
  name: 'accept',
  run: async (bench) => {
    const { closers, postgres, rounds, system, folder } = bench;
    const api = await openApi(bench);
    const durable = await api.start('durable');
    const dropping = await api.start('none');
    const load = await openHttpLoad(closers);
    const raw = await openRawInserts(closers, await postgres.emptyDatabase(closers));
    const samples = sampleAppends(system);
    const cpuOf = (server: { readonly pid: number }) =>
      createCpuMeter({
        server: { pid: server.pid, children: false },
        PostgreSQL: { pid: postgres.pid, children: true },
        load: { pid: load.pid, children: false },
      });
    const cpu = { durable: cpuOf(durable), dropping: cpuOf(dropping) };

    const send = (to: 'durable' | 'dropping', connections: number, seconds: number): Promise<HttpLoadResult> => {
      const { baseUrl } = { durable, dropping }[to];
      return load.run({ baseUrl, key: api.key, bodies: SAMPLE_REQUESTS, connections, extent: { seconds } });
    };
    const busy = (to: 'durable' | 'dropping') => async (): Promise<number> => {
      const work = () => send(to, CONNECTIONS, BUSY_SECONDS);
      return (await cpu[to].during(work, ({ accepted }) => accepted)).perSecond;
    };
    const lone = (to: 'durable' | 'dropping') => async (): Promise<number> => (await send(to, 1, LONE_SECONDS)).p50Ms;
    const commit = (): Promise<number> => medianMs({ ms: COMMITS_MS, work: () => raw.insertOne(samples.next(1)) });
    const sync = async (): Promise<number> => syncMs(folder);

    const many = await interleave({ rounds, warmUps: 1 }, { ours: busy('durable'), limit: busy('dropping') });
    const one = await interleave(
      { rounds, warmUps: 1 },
      { ours: lone('durable'), sync, commit, dropping: lone('dropping') },
    );
    const measure = 'accept, 1 connection, p50';
    const msMax = Math.max(LONE_MS_MAX, LONE_SYNCS_MAX * median(one.sync));
    return [
      {
        measure: `accept, ${CONNECTIONS} connections`,
        unit: 'requests/s',
        rounds: many.ours,
        floor: BUSY_FLOOR,
        limit: { what: 'the same without storage', rounds: many.limit },
        cpuMicros: cpu.durable.lastMicros(rounds),
      },
      {
        measure: `accept, ${CONNECTIONS} connections, without storage`,
        unit: 'requests/s',
        rounds: many.limit,
        cpuMicros: cpu.dropping.lastMicros(rounds),
      },
      {
        measure,
        unit: 'ms',
        rounds: one.ours,
        floor: { of: 'figure', atMost: msMax },
        limit: { what: 'fdatasync of a page', rounds: one.sync },
      },
      { measure, unit: 'ms', rounds: one.ours, limit: { what: 'pg, one commit', rounds: one.commit } },
      { measure, unit: 'ms', rounds: one.ours, limit: { what: 'the same without storage', rounds: one.dropping } },
    ];
  },
};
