import { rename, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a measured process before its own program (`node --import`): the first SIGUSR2 starts a CPU profile of its
 * main thread, the next one writes it to the file that `BENCH_PROFILE` names, which is empty in between. Idle, it costs
 * nothing.
 */

/** Coarse enough to take a few per cent of what it measures. */
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
