import { setInterval } from 'node:timers/promises';
import type { Measure } from '../harness/bench.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { median } from '../harness/line.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { openService, type Service } from '../harness/open-service.ts';
import { openSmtpSink } from '../harness/open-smtp-sink.ts';
import { BATCH, BATCH_PATH, SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { until } from '../harness/until.ts';

const LAG_FLOOR = { of: 'figure', atMost: 2 } as const;
const RATE_FLOOR = { of: 'ratio', atLeast: 0.99 } as const;
const DRAIN_FLOOR = { of: 'figure', atLeast: 10_000 } as const;
const PER_SECOND = 1_000;
const SECONDS = 60;
const CONNECTIONS = 64;
/** More load than can be delivered. */
const OVERLOAD = { connections: 8, extent: { seconds: 10 } } as const;
/** With a smaller backlog the deliveries dominate the time. */
const BACKLOG_MIN = 10_000;
const LOOK_EVERY_MS = 100;
const SECOND_MS = 1_000;

/** Maximum lag of the read models during work. */
const worstLag = async <T>(service: Service, work: Promise<T>): Promise<{ result: T; seconds: number }> => {
  const end = new AbortController();
  let seconds = 0;
  const watch = async (): Promise<void> => {
    for await (const _ of setInterval(LOOK_EVERY_MS, undefined, { signal: end.signal })) {
      seconds = Math.max(seconds, await service.lagSeconds());
    }
  };
  const watching = watch().catch((error: unknown) => {
    if (!end.signal.aborted) throw error;
  });
  const [result] = await Promise.all([work.finally(() => end.abort()), watching]);
  return { result, seconds };
};

/** Events per second of the slowest read model until it has caught up with a log that deliveries still extend. */
const drainPerSecond = async (service: Service): Promise<{ perSecond: number; backlog: number }> => {
  const from = Number(await service.projected());
  const backlog = Number(await service.head()) - from;
  const beganMs = performance.now();
  await until('the read models', async () => (await service.projected()) >= (await service.head()));
  const drained = Number(await service.projected()) - from;
  return { perSecond: (drained * SECOND_MS) / (performance.now() - beganMs), backlog };
};

/** Lag of the read models at a constant rate, and their recovery from an overload. */
export const lag: Measure = {
  name: 'lag',
  run: async (bench) => {
    const { closers, rounds } = bench;
    const sink = await openSmtpSink(closers);
    const service = await openService(bench, { mailUrl: sink.url });
    const load = await openHttpLoad(closers);
    const cpu = createCpuMeter({
      service: { pid: service.pid, children: false },
      PostgreSQL: { pid: await service.postgresPid(), children: true },
      load: { pid: load.pid, children: false },
    });
    const { baseUrl, key } = service;
    const sends = { baseUrl, key, bodies: SAMPLE_REQUESTS };
    const atRest = () => until('everything', async () => (await service.projected()) >= (await service.head()));
    const found = {
      lags: [] as number[],
      rates: [] as number[],
      p99s: [] as number[],
      drains: [] as number[],
      backlogs: [] as number[],
    };

    for (let round = 0; round < rounds; round += 1) {
      const steady = { connections: CONNECTIONS, extent: { seconds: SECONDS, perSecond: PER_SECOND } };
      const sending = cpu.during(
        () => load.run({ ...sends, ...steady }),
        ({ accepted }) => accepted,
      );
      const { result, seconds } = await worstLag(service, sending);
      found.lags.push(seconds);
      found.rates.push(result.perSecond);
      found.p99s.push(result.p99Ms);
      await atRest();
      await load.run({ baseUrl, key, path: BATCH_PATH, bodies: [BATCH], ...OVERLOAD });
      const { perSecond, backlog } = await drainPerSecond(service);
      found.drains.push(perSecond);
      found.backlogs.push(backlog);
    }
    const asked = found.rates.map(() => PER_SECOND);
    return [
      {
        measure: `lag at ${PER_SECOND} sends/s, worst of ${SECONDS} s`,
        unit: 's',
        rounds: found.lags,
        floor: LAG_FLOOR,
        cpuMicros: cpu.lastMicros(rounds),
      },
      {
        measure: 'lag, sends accepted',
        unit: 'requests/s',
        rounds: found.rates,
        floor: RATE_FLOOR,
        limit: { what: 'sends due', rounds: asked },
      },
      { measure: 'lag, answer to a send, p99', unit: 'ms', rounds: found.p99s },
      { measure: 'lag, events behind after an overload', unit: 'events', rounds: found.backlogs },
      {
        measure: 'lag, then drained beside deliveries',
        unit: 'events/s',
        rounds: found.drains,
        ...(median(found.backlogs) < BACKLOG_MIN ? {} : { floor: DRAIN_FLOOR }),
      },
    ];
  },
};
