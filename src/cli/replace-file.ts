import { rename, rm, writeFile } from 'node:fs/promises';

/**
 * Writes a file: whoever reads it sees what was there before or all of this, also after a crash.
 * @param mode of the file; absent: what the umask leaves.
 */
export const replaceFile = async (path: string, text: string, mode = 0o666): Promise<void> => {
  const next = `${path}.${process.pid}.new`;
  await rm(next, { force: true });
  await writeFile(next, text, { flag: 'wx', mode, flush: true });
  await rename(next, path);
};
