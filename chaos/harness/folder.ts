import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tidyUpLater } from './left-behind.ts';

/**
 * Creates a folder that the built-in database's user can access. It is removed when this process ends, at the latest.
 */
export const newFolder = async (): Promise<{ readonly path: string; remove(): Promise<void> }> => {
  const path = await mkdtemp(join(tmpdir(), 'outbox-chaos-'));
  await chmod(path, 0o755);
  tidyUpLater(path);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
};
