import { rename, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { isMainThread } from 'node:worker_threads';
import { type CallCounts, countCalls } from './call-counts.ts';

/**
 * Preloaded into a measured process (`node --import`). The first SIGUSR2 starts a recording of its main thread; the next
 * one writes it to the file named by `BENCH_RECORDING`, which is empty until then. It costs nothing while idle.
 */

/** Shorter: the profiler takes more than a few per cent of the time it measures. Longer: less detail. */
const SAMPLE_EVERY_MICROS = 500;
/** Mean distance of sampled allocations. Smaller: the profiler itself allocates. Larger: less detail. */
const SAMPLE_EVERY_BYTES = 32_768;

type Stop = () => Promise<unknown>;

/** Samples where the processor's time goes. */
const startProfile = async (session: Session): Promise<Stop> => {
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_MICROS });
  await session.post('Profiler.start');
  return async () => (await session.post('Profiler.stop')).profile;
};

/** Samples allocations, also of objects that were collected since, and counts promises and digests. */
const startAllocations = async (session: Session): Promise<Stop> => {
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: SAMPLE_EVERY_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  const stopCounting = countCalls();
  return async () => {
    const counts: CallCounts = stopCounting();
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return { ...counts, heap: profile.head };
  };
};

const { BENCH_RECORDING: file, BENCH_RECORDS: what } = process.env;
let stop: Stop | null = null;

const start = async (path: string): Promise<void> => {
  const session = new Session();
  session.connect();
  const end = await (what === 'allocations' ? startAllocations(session) : startProfile(session));
  stop = async () => {
    stop = null;
    const recording = await end();
    session.disconnect();
    await writeFile(`${path}.part`, JSON.stringify(recording));
    await rename(`${path}.part`, path);
  };
  await writeFile(path, '');
};

if (file !== undefined && isMainThread) {
  process.on('SIGUSR2', () => {
    void (stop === null ? start(file) : stop());
  });
}
