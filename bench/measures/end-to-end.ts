import type { Measure } from '../harness/bench.ts';
import { interleave } from '../harness/interleave.ts';
import { SAMPLE_REQUESTS } from '../harness/sample-requests.ts';
import { openWay, type Passage } from '../harness/send-through.ts';
import { openNodemailerPool } from '../peers/nodemailer-pool.ts';

const FLOOR = { of: 'figure', atLeast: 1_500 } as const;
const MEMORY_FLOOR = { of: 'figure', atMost: 400 } as const;
const PEER_MESSAGES = 3_000;
const SECOND_MS = 1_000;
/** V8 optimizes code during the first ten thousand messages of a process. */
const WARM_UPS = 2;

const PEER_SAMPLES = Array.from(
  { length: PEER_MESSAGES },
  (_, index) => SAMPLE_REQUESTS[index % SAMPLE_REQUESTS.length] ?? '',
);

/**
 * Throughput from the request to the outcome in the log, through the whole program in one process, to a server that
 * accepts everything.
 */
export const endToEnd: Measure = {
  name: 'end-to-end',
  run: async (bench) => {
    const { closers, rounds } = bench;
    const way = await openWay(bench);
    const peer = openNodemailerPool(closers, { port: way.sinkPort, privateKey: null });
    const passages: Passage[] = [];

    const ours = async (): Promise<number> => {
      const passage = await way.pass();
      passages.push(passage);
      return passage.perSecond;
    };
    const alone = async (): Promise<number> => {
      const beganMs = performance.now();
      await peer(PEER_SAMPLES);
      return (PEER_MESSAGES * SECOND_MS) / (performance.now() - beganMs);
    };

    const figures = await interleave({ rounds, warmUps: WARM_UPS }, { ours, limit: alone });
    const counted = passages.slice(-rounds);
    return [
      {
        measure: 'end to end, outcomes in the log',
        unit: 'messages/s',
        rounds: figures.ours,
        floor: FLOOR,
        limit: { what: "nodemailer's pool alone", rounds: figures.limit },
        cpuMicros: way.cpu.lastMicros(rounds),
        budget: await way.budget(),
      },
      {
        measure: 'end to end, accepted in the same time',
        unit: 'requests/s',
        rounds: counted.map(({ acceptedPerSecond }) => acceptedPerSecond),
      },
      {
        measure: 'end to end, then until read models are level',
        unit: 's',
        rounds: counted.map(({ drainSeconds }) => drainSeconds),
      },
      {
        measure: 'end to end, most memory',
        unit: 'MB',
        floor: MEMORY_FLOOR,
        rounds: [Math.max(...passages.map(({ mostMb }) => mostMb))],
      },
    ];
  },
};
