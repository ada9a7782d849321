import { rename, rm, writeFile } from 'node:fs/promises';

/**
 * Atomically replaces a file: readers see either the old or the new content, even after a crash.
 * @param mode file mode; absent: the umask decides.
 */
export const replaceFile = async (path: string, text: string, mode = 0o666): Promise<void> => {
  const next = `${path}.${process.pid}.new`;
  await rm(next, { force: true });
  await writeFile(next, text, { flag: 'wx', mode, flush: true });
  await rename(next, path);
};
