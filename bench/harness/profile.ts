import { mkdir, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';

/** Profiles this process during work, in the format of Chrome's developer tools. */
export const profiled = async <T>(folder: string, name: string, work: () => Promise<T>): Promise<T> => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  try {
    return await work();
  } finally {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${name}.cpuprofile`), JSON.stringify(profile));
  }
};
