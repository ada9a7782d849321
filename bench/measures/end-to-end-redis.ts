import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { skippedLine } from '../harness/line.ts';
import { openRedis, WITHOUT_REDIS } from '../harness/redis.ts';
import { openWay } from '../harness/send-through.ts';

const MEASURE = 'end to end, queue on Redis';

/** The end-to-end measurement with the queue on Redis, compared with the queue in memory. */
export const endToEndRedis: Measure = {
  name: 'end-to-end-redis',
  run: async (bench) => {
    const redisUrl = await openRedis(bench);
    if (redisUrl === null) return [skippedLine(MEASURE, 'messages/s', WITHOUT_REDIS)];
    const onRedis = await openWay(bench, { redisUrl });
    const embedded = await openWay(bench);
    const figures = await interleave(
      { rounds: bench.rounds, warmUps: 1 },
      {
        ours: async () => (await onRedis.pass()).perSecond,
        limit: async () => (await embedded.pass()).perSecond,
      },
    );
    return [
      {
        measure: MEASURE,
        unit: 'messages/s',
        rounds: figures.ours,
        limit: { what: 'on the embedded default', rounds: figures.limit },
        cpuMicros: onRedis.cpu.lastMicros(bench.rounds),
      },
    ];
  },
};
