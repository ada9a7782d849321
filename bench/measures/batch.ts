import type { Measure } from '../harness/bench.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import { openApi } from '../harness/open-api.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { BATCH, BATCH_MESSAGES, BATCH_PATH, SAMPLE_REQUESTS } from '../harness/sample-requests.ts';

/** A batch must be faster than sending its messages one by one. */
const FLOOR = { of: 'ratio', atLeast: 2 } as const;
/** Enough to keep either server busy. */
const BATCH_CONNECTIONS = 4;
const SEND_CONNECTIONS = 128;
const SECONDS = 3;

/** Messages per second through `POST /v1/messages/batch`, compared with single sends to the same server. */
export const batch: Measure = {
  name: 'batch',
  run: async (bench) => {
    const { closers, rounds, postgres } = bench;
    const { key, start } = await openApi(bench);
    const { baseUrl, pid } = await start('durable');
    const load = await openHttpLoad(closers);
    const cpu = createCpuMeter({
      server: { pid, children: false },
      PostgreSQL: { pid: postgres.pid, children: true },
      load: { pid: load.pid, children: false },
    });
    const extent = { seconds: SECONDS };

    const inBatches = async (): Promise<number> => {
      const batches = { path: BATCH_PATH, bodies: [BATCH], connections: BATCH_CONNECTIONS };
      const work = () => load.run({ baseUrl, key, ...batches, extent });
      const { perSecond } = await cpu.during(work, ({ accepted }) => accepted * BATCH_MESSAGES);
      return perSecond * BATCH_MESSAGES;
    };
    const oneByOne = async (): Promise<number> =>
      (await load.run({ baseUrl, key, bodies: SAMPLE_REQUESTS, connections: SEND_CONNECTIONS, extent })).perSecond;

    const found = await interleave({ rounds, warmUps: 1 }, { ours: inBatches, limit: oneByOne });
    return [
      {
        measure: `accept in batches of ${BATCH_MESSAGES}`,
        unit: 'messages/s',
        rounds: found.ours,
        floor: FLOOR,
        limit: { what: 'the same one by one', rounds: found.limit },
        cpuMicros: cpu.lastMicros(rounds),
      },
    ];
  },
};
