import { type ExecFileOptions, execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { StartRefused } from '../../async/async.ts';

const run = promisify(execFile);

/** The user the server runs as; PostgreSQL refuses to run as root. */
interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** `undefined`: our own user. */
export type ServerAccount = Account | undefined;

const NAME = 'postgres';

/** Tried in order: shadow's command (Debian, Red Hat), then BusyBox's. */
const CREATE_COMMANDS: readonly (readonly [string, ...string[]])[] = [
  ['useradd', '--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', NAME],
  ['adduser', '-S', '-D', '-H', NAME],
];

/**
 * Options for `spawn` and `execFile` to run as the account. The folder is `/` because the account may have no access to
 * ours.
 */
export const asAccount = (account: ServerAccount): ExecFileOptions => ({
  cwd: '/',
  env: { PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
});

const isRoot = (): boolean => process.getuid?.() === 0;

const lookUp = async (): Promise<ServerAccount> => {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', NAME]), run('id', ['-g', NAME])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
};

const create = async (): Promise<Account> => {
  for (const [command, ...parameters] of CREATE_COMMANDS) {
    await run(command, parameters).catch(() => undefined);
    const created = await lookUp();
    if (created !== undefined) return created;
  }
  throw new StartRefused(
    'PostgreSQL does not run as root and the user "postgres" could not be created: create it (useradd --system postgres), or start Outbox as another user',
  );
};

/** Existing data is served by the account of its owner, so that root may start what a user began. */
const ownerOf = async (path: string): Promise<ServerAccount> => {
  const found = await stat(path).catch(() => undefined);
  return found === undefined || found.uid === 0 ? undefined : { uid: found.uid, gid: found.gid };
};

/** @param existing folder of an existing cluster. */
export const chooseAccount = async (existing?: string): Promise<ServerAccount> => {
  if (!isRoot()) return undefined;
  const owner = existing === undefined ? undefined : await ownerOf(existing);
  return owner ?? (await lookUp()) ?? (await create());
};

/**
 * True if the account can enter the folder. The kernel is asked, since modes are not the whole answer (ACLs, mounts).
 */
export const canReach = async (account: ServerAccount, folder: string): Promise<boolean> => {
  if (account === undefined) return true;
  try {
    await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], asAccount(account));
    return true;
  } catch {
    return false;
  }
};
