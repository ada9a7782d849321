import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Closers } from '../../src/composition/lifecycle.ts';

/** Magic number of tmpfs (`statfs(2)`), where nothing is durable and syncing is free. */
const TMPFS = 0x01021994;
const CANDIDATES = [tmpdir(), '/var/tmp', process.cwd()];

const isOnDisk = async (path: string): Promise<boolean> =>
  statfs(path).then(
    ({ type }) => type !== TMPFS,
    () => false,
  );

/** Creates a folder on a disk, removed at the end. */
export const openFolder = async (closers: Closers): Promise<string> => {
  const places = await Promise.all(CANDIDATES.map(async (path) => ({ path, onDisk: await isOnDisk(path) })));
  const place = places.find(({ onDisk }) => onDisk)?.path;
  if (place === undefined) throw new Error(`none of ${CANDIDATES.join(', ')} is on a disk`);
  const folder = await mkdtemp(join(place, 'outbox-bench-'));
  await chmod(folder, 0o755); // the server's user needs access
  closers.add('folder', () => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
};
