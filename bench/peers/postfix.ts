import { execFile } from 'node:child_process';
import { chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Closers } from '../../src/composition/lifecycle.ts';
import { freePort } from '../../test/support/free-port.ts';
import { guard } from '../harness/guard.ts';
import { SENDING_DOMAIN } from '../harness/provision.ts';
import { maildirLines, mainCf, masterCf, NOBODY, relayLines } from './postfix-config.ts';

const run = promisify(execFile);

/** Same number as the service has in flight. */
const SESSIONS = 64;
const MESSAGE_BYTES = 1_500;

export interface Postfix {
  /** Submits messages over kept sessions. When it resolves they are on disk, and they reach the other side later. */
  handIn(messages: number): Promise<void>;
}

export interface PostfixOptions {
  /** Must not exist yet and must be on a disk. */
  readonly folder: string;
  readonly relayPort: number;
  /** Socket of a signing milter; null: none. */
  readonly milter: string | null;
}

/** @returns true if all programs are installed. */
export const isInstalled = (...programs: readonly string[]): Promise<boolean> =>
  Promise.all(programs.map((program) => run('sh', ['-c', `command -v ${program}`]))).then(
    () => true,
    () => false,
  );

const userId = async (): Promise<number> => Number((await run('id', ['-u', 'postfix'])).stdout);

/** An instance with its own configuration, queue and port. The machine's own setup is not touched. */
const start = async (closers: Closers, folder: string, lines: string) => {
  const etc = join(folder, 'etc');
  for (const path of [folder, etc, join(folder, 'spool'), join(folder, 'data')]) await mkdir(path, { mode: 0o755 });
  await chown(join(folder, 'data'), await userId(), 0);
  const places = { folder, port: await freePort() };
  await writeFile(join(etc, 'main.cf'), mainCf(places, lines));
  await writeFile(join(etc, 'master.cf'), masterCf(places));
  await run('postfix', ['-c', etc, 'start']);
  const pid = Number(await readFile(join(folder, 'spool', 'pid', 'master.pid'), 'utf8'));
  guard(closers, { pid, signal: 'TERM', folders: [] });
  return { pid, port: places.port };
};

export const openPostfix = async (
  closers: Closers,
  { folder, relayPort, milter }: PostfixOptions,
): Promise<Postfix> => {
  const { port } = await start(closers, folder, relayLines(relayPort, milter));
  return {
    handIn: async (messages) => {
      const load = ['-d', '-s', String(SESSIONS), '-m', String(messages), '-l', String(MESSAGE_BYTES)];
      const envelope = ['-f', `orders@${SENDING_DOMAIN}`, '-t', 'customer@example.com'];
      await run('smtp-source', [...load, ...envelope, `127.0.0.1:${port}`]);
    },
  };
};

interface Maildir {
  readonly port: number;
  /** The master process, whose children do the work. */
  readonly pid: number;
  /** Messages in the maildir. */
  count(): Promise<number>;
}

/** Receives mail for a domain. @param folder must not exist yet and must be on a disk. */
export const openMaildir = async (
  closers: Closers,
  { folder, domain }: { readonly folder: string; readonly domain: string },
): Promise<Maildir> => {
  const started = await start(closers, folder, maildirLines(folder, domain));
  const mail = join(folder, 'mail');
  await mkdir(mail);
  await chown(mail, NOBODY, NOBODY);
  return { ...started, count: async () => (await readdir(join(mail, 'box', 'new')).catch(() => [])).length };
};
