import type { Measure } from '../harness/bench.ts';
import { lookWhile } from '../harness/look-while.ts';
import { residentMb } from '../harness/memory.ts';
import { openWay, type Way } from '../harness/send-through.ts';
import { slopePerMinute } from '../harness/slope.ts';

const MEMORY_FLOOR = { of: 'figure', atMost: 400 } as const;
/** Garbage collection moves memory by tens of megabytes, but a relevant leak grows beyond that. */
const FLAT = { of: 'figure', atMost: 5 } as const;
const CHUNK_MESSAGES = 1_000;
/** Keeps the workers busy while further messages are accepted. */
const BEHIND_MAX = 2_000;
const SAMPLE_EVERY_MS = 1_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

interface Sample {
  readonly atMs: number;
  readonly mb: number;
}

/** Sends at full speed with a bounded backlog, so that any growth is not the backlog. */
const sendFor = async (way: Way, ms: number): Promise<number> => {
  const beganMs = performance.now();
  let messages = 0;
  while (performance.now() - beganMs < ms) {
    await way.keepUp(CHUNK_MESSAGES, BEHIND_MAX);
    messages += CHUNK_MESSAGES;
  }
  return (messages * SECOND_MS) / (performance.now() - beganMs);
};

const sampled = async <T>(pid: number, work: Promise<T>): Promise<{ result: T; samples: readonly Sample[] }> => {
  const samples: Sample[] = [];
  const result = await lookWhile(work, SAMPLE_EVERY_MS, async () => {
    samples.push({ atMs: performance.now(), mb: await residentMb(pid) });
  });
  return { result, samples };
};

/** Memory of the whole program in one process under full load. */
export const soak: Measure = {
  name: 'soak',
  run: async (bench) => {
    const way = await openWay(bench);
    const { result, samples } = await sampled(way.service.pid, sendFor(way, bench.minutes * MINUTE_MS));
    const lastThird = samples.slice(Math.floor((samples.length * 2) / 3));
    const after = `${bench.minutes} minutes at full load`;
    return [
      {
        measure: `${after}, most memory`,
        unit: 'MB',
        floor: MEMORY_FLOOR,
        rounds: [Math.max(...samples.map(({ mb }) => mb))],
      },
      {
        measure: `${after}, growth in their last third`,
        unit: 'MB/min',
        floor: FLAT,
        rounds: [slopePerMinute(lastThird.map(({ atMs, mb }) => ({ atMs, value: mb })))],
      },
      { measure: `${after}, sent and delivered`, unit: 'messages/s', rounds: [result] },
    ];
  },
};
