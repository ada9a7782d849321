import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { openEmbeddedPostgres } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { silentLogger } from '../../test/support/logger.ts';
import { newFolder } from '../harness/folder.ts';

/** A PostgreSQL server on its own small disk. */
export interface SmallDisk {
  /** Administrator URL. */
  readonly url: string;
  /** Fills the disk. @returns a function that frees the space. */
  fill(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** An empty cluster, its log and some thousand messages use less than half of this. */
const DISK_BYTES = 256 * 1024 * 1024;
const SETTINGS = { max_connections: '200', fsync: 'off', min_wal_size: '32MB', max_wal_size: '64MB' };

const mount = (folder: string): void => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder], { stdio: 'pipe' });
};
/** Unmounts lazily, because a process may still have files open there. */
const unmount = (folder: string): void => {
  execFileSync('umount', ['-l', folder], { stdio: 'pipe' });
};

const whyNot = async (): Promise<string | undefined> => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-chaos-'));
  try {
    mount(folder);
    unmount(folder);
    return undefined;
  } catch {
    return 'this user may not mount a small file system';
  } finally {
    await rm(folder, { recursive: true });
  }
};

/** Why this machine cannot provide a small disk; undefined: it can. */
export const NO_SMALL_DISK = await whyNot();

/** Requests a new WAL segment, which no longer fits: the server itself crashes, not only statements. */
const switchWal = async (url: string): Promise<void> => {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    for (let segment = 0; segment < 4; segment += 1) {
      await client.query("select pg_logical_emit_message(true, 'chaos', repeat('x', 100000)), pg_switch_wal()");
    }
  } catch {
    // expected on a full disk
  } finally {
    await client.end().catch(() => undefined);
  }
};

export const openOnSmallDisk = async (): Promise<SmallDisk> => {
  const folder = await newFolder();
  mount(folder.path);
  await chmod(folder.path, 0o755);
  const filler = join(folder.path, 'filler');
  const remove = async (): Promise<void> => {
    unmount(folder.path);
    await folder.remove();
  };
  const options = { dataDir: folder.path, system: createSystem(), logger: silentLogger, supervised: true };
  const server = await openEmbeddedPostgres({ ...options, settings: SETTINGS }).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  return {
    url: server.url,
    fill: async () => {
      const { bavail, bsize } = await statfs(folder.path);
      await writeFile(filler, Buffer.alloc(bavail * bsize)).catch(() => undefined); // fails once the disk is full
      await switchWal(server.url);
      return () => truncate(filler, 0);
    },
    close: async () => {
      await server.close();
      await remove();
    },
  };
};
