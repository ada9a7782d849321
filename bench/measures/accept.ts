import type { Measure } from '../harness/bench.ts';
import { openChild } from '../harness/child.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import { median } from '../harness/line.ts';
import { syncMs } from '../harness/machine.ts';
import { NODE_ARGUMENTS, openApi } from '../harness/open-api.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { budgetOf, createRecorder } from '../harness/recorder.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { medianMs } from '../harness/throughput.ts';
import { openRawInserts } from '../peers/raw-inserts.ts';
import { sampleAppends } from '../peers/sample-appends.ts';
import type { HttpLoadResult } from '../processes/http-load.ts';

const BUSY_FLOOR = { of: 'ratio', atLeast: 0.45 } as const;
const LONE_MS_MAX = 1;
/** Applies to disks too slow for the absolute floor of a millisecond. */
const LONE_SYNCS_MAX = 2;
const CONNECTIONS = 128;
const BUSY_SECONDS = 3;
const LONE_SECONDS = 2;
const COMMITS_MS = 1_000;

/** `durable` is the service; `dropping` is the same service with appends and contents replaced by resolved promises. */
type Contender = 'durable' | 'dropping' | 'bare';

/** `POST /v1/messages/send`, compared with a bare server that accepts the same request and stores nothing. */
export const accept: Measure = {
  name: 'accept',
  run: async (bench) => {
    const { closers, postgres, rounds, system, folder, profiling } = bench;
    const api = await openApi(bench);
    const record = () => createRecorder(folder, 'processor time');
    const recorders = { durable: record(), dropping: record() };
    const load = await openHttpLoad(closers);
    const bare = await openChild<{ readonly baseUrl: string }>(closers, {
      name: 'bare-server',
      input: { key: api.key },
      execArgv: [...NODE_ARGUMENTS, ...profiling],
    });
    const servers = {
      durable: await api.start('durable', { recorder: recorders.durable }),
      dropping: await api.start('none', { recorder: recorders.dropping }),
      bare: { baseUrl: bare.facts.baseUrl, pid: bare.pid },
    };
    const raw = await openRawInserts(closers, await postgres.emptyDatabase(closers));
    const samples = sampleAppends(system);
    const cpuOf = (server: { readonly pid: number }) =>
      createCpuMeter({
        server: { pid: server.pid, children: false },
        PostgreSQL: { pid: postgres.pid, children: true },
        load: { pid: load.pid, children: false },
      });
    const cpu = { durable: cpuOf(servers.durable), dropping: cpuOf(servers.dropping), bare: cpuOf(servers.bare) };

    const send = (to: Contender, connections: number, seconds: number): Promise<HttpLoadResult> => {
      const { baseUrl } = servers[to];
      return load.run({ baseUrl, key: api.key, bodies: SAMPLE_REQUESTS, connections, extent: { seconds } });
    };
    const sendMany = (to: Contender) => () => send(to, CONNECTIONS, BUSY_SECONDS);
    const accepted = (result: HttpLoadResult): number => result.accepted;
    const busy = (to: Contender) => async (): Promise<number> =>
      (await cpu[to].during(sendMany(to), accepted)).perSecond;
    const lone = (to: Contender) => async (): Promise<number> => (await send(to, 1, LONE_SECONDS)).p50Ms;
    const commit = (): Promise<number> => medianMs({ ms: COMMITS_MS, work: () => raw.insertOne(samples.next(1)) });
    const sync = async (): Promise<number> => syncMs(folder);
    const budget = (to: 'durable' | 'dropping') => budgetOf(recorders[to], servers[to].pid, sendMany(to), accepted);

    const many = await interleave(
      { rounds, warmUps: 1 },
      { ours: busy('durable'), dropping: busy('dropping'), bare: busy('bare') },
    );
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
        limit: { what: 'bare fastify, zod and HMAC', rounds: many.bare },
        cpuMicros: cpu.durable.lastMicros(rounds),
        budget: await budget('durable'),
      },
      {
        measure: `accept, ${CONNECTIONS} connections, without storage`,
        unit: 'requests/s',
        rounds: many.dropping,
        limit: { what: 'bare fastify, zod and HMAC', rounds: many.bare },
        cpuMicros: cpu.dropping.lastMicros(rounds),
        budget: await budget('dropping'),
      },
      {
        measure: `bare server, ${CONNECTIONS} connections`,
        unit: 'requests/s',
        rounds: many.bare,
        cpuMicros: cpu.bare.lastMicros(rounds),
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
