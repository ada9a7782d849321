import type { Measure } from '../harness/bench.ts';
import { createCpuMeter } from '../harness/cpu.ts';
import { interleave } from '../harness/interleave.ts';
import type { Line } from '../harness/line.ts';
import { openApi } from '../harness/open-api.ts';
import { openHttpLoad } from '../harness/open-http-load.ts';
import { BATCH_PATH, batchOf, READY_REQUESTS, SAMPLE_TEMPLATE, TEMPLATE_REQUESTS } from '../harness/sample-requests.ts';

const SEND_FLOOR = { of: 'ratio', atMost: 1.15 } as const;
const BATCH_FLOOR = { of: 'ratio', atMost: 1 } as const;
const BATCH_MESSAGES = 500;
/** Bounded by the key's rate limit. Longer rounds add no information. */
const SECONDS = 3;

const post = async (url: URL, key: string, body?: object): Promise<void> => {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${url.pathname}: ${answer.status} ${await answer.text()}`);
};

/** Processor time of a send by template, compared with the same mail sent as ready HTML. */
export const templates: Measure = {
  name: 'templates',
  run: async (bench) => {
    const { closers, rounds, postgres } = bench;
    const { key, start } = await openApi(bench);
    const { baseUrl, pid } = await start('durable');
    await post(new URL('/v1/templates', baseUrl), key, SAMPLE_TEMPLATE);
    await post(new URL(`/v1/templates/${SAMPLE_TEMPLATE.alias}/publish`, baseUrl), key);
    const load = await openHttpLoad(closers);

    const contender = (requests: readonly string[], inBatches: boolean) => {
      const cpu = createCpuMeter({
        server: { pid, children: false },
        PostgreSQL: { pid: postgres.pid, children: true },
      });
      const messages = inBatches ? BATCH_MESSAGES : 1;
      const how = inBatches
        ? { path: BATCH_PATH, bodies: [batchOf(requests, BATCH_MESSAGES)], connections: 4 }
        : { bodies: requests, connections: 128 };
      const micros = async (): Promise<number> => {
        const work = () => load.run({ baseUrl, key, ...how, extent: { seconds: SECONDS } });
        await cpu.during(work, ({ accepted }) => accepted * messages);
        return Object.values(cpu.lastMicros(1)).reduce((sum, each) => sum + each, 0);
      };
      return { cpu, micros };
    };

    const line = async (inBatches: boolean): Promise<Line> => {
      const [byTemplate, ready] = [contender(TEMPLATE_REQUESTS, inBatches), contender(READY_REQUESTS, inBatches)];
      const found = await interleave({ rounds, warmUps: 1 }, { ours: byTemplate.micros, limit: ready.micros });
      return {
        measure: inBatches ? `a batch of ${BATCH_MESSAGES} by template, a message` : 'a send by template',
        unit: 'µs',
        rounds: found.ours,
        floor: inBatches ? BATCH_FLOOR : SEND_FLOOR,
        limit: { what: 'the same with ready html', rounds: found.limit },
        cpuMicros: byTemplate.cpu.lastMicros(rounds),
      };
    };
    return [await line(false), await line(true)];
  },
};
