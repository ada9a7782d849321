import { rename, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { isMainThread } from 'node:worker_threads';

/**
 * Preloaded into a measured process (`node --import`). The first SIGUSR2 starts a CPU profile of its main thread; the
 * next one writes it to the file named by `BENCH_PROFILE`, which is empty until then. It costs nothing while idle.
 */

/** Shorter: the profiler takes more than a few per cent of the time it measures. Longer: less detail. */
const SAMPLE_EVERY_MICROS = 500;

const { BENCH_PROFILE: file } = process.env;
let session: Session | null = null;

const start = async (path: string): Promise<void> => {
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_MICROS });
  await session.post('Profiler.start');
  await writeFile(path, '');
};

const stop = async (profiling: Session, path: string): Promise<void> => {
  session = null;
  const { profile } = await profiling.post('Profiler.stop');
  profiling.disconnect();
  await writeFile(`${path}.part`, JSON.stringify(profile));
  await rename(`${path}.part`, path);
};

if (file !== undefined && isMainThread) {
  process.on('SIGUSR2', () => {
    void (session === null ? start(file) : stop(session, file));
  });
}
