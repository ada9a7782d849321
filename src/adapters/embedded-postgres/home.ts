import { type ExecFileOptions, execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { StartRefused, type System } from '../../lib/async/async.ts';

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
    'PostgreSQL does not run as root and the user "postgres" could not be created: create it (useradd --system postgres), or run Outbox as another user',
  );
};

/** Existing data is served by the account of its owner, so that root may start what a user began. */
const ownerOf = async (path: string): Promise<ServerAccount> => {
  const found = await stat(path).catch(() => undefined);
  return found === undefined || found.uid === 0 ? undefined : { uid: found.uid, gid: found.gid };
};

/** @param existing folder of an existing cluster. */
const chooseAccount = async (existing?: string): Promise<ServerAccount> => {
  if (!isRoot()) return undefined;
  const owner = existing === undefined ? undefined : await ownerOf(existing);
  return owner ?? (await lookUp()) ?? (await create());
};

/**
 * True if the account can enter the folder. The kernel is asked, since modes are not the whole answer (ACLs, mounts).
 */
const canReach = async (account: ServerAccount, folder: string): Promise<boolean> => {
  if (account === undefined) return true;
  try {
    await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], asAccount(account));
    return true;
  } catch {
    return false;
  }
};

/** Folder of one embedded server: `data` (the cluster), `password` and `server.log`, all owned by the account. */
export interface Home {
  readonly folder: string;
  readonly account: ServerAccount;
  /** The cluster is made. */
  readonly exists: boolean;
  /** The file in `DATA_DIR` that will name this folder once the cluster exists. */
  readonly pointer: string | undefined;
  /** Outside `DATA_DIR`. */
  readonly relocated: boolean;
}

interface HomeOptions {
  readonly dataDir: string;
  /** A folder that the server's user can always reach: `/var/lib/outbox`. */
  readonly systemFolder: string;
  readonly system: System;
  /** Do not create a cluster if none exists. */
  readonly mustExist?: boolean | undefined;
}

/** Folder of the home within `DATA_DIR`. */
const INSIDE = 'postgresql';
/** File in `DATA_DIR` that names the home if it could not be inside. */
const POINTER = 'postgresql-location';

export const clusterOf = (folder: string): string => join(folder, 'data');

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

const PATH_PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: 'it is not writable for this user: change its owner or mode, or name another in DATA_DIR',
  EPERM: 'it is not writable for this user: change its owner or mode, or name another in DATA_DIR',
  EROFS: 'its file system is read-only: name another in DATA_DIR',
  ENOTDIR: 'something on its path is a file, not a folder: name another in DATA_DIR',
  EEXIST: 'a file has that name: remove it, or name another in DATA_DIR',
  ENOSPC: 'its disk is full: make room, or name another in DATA_DIR',
  EDQUOT: 'its disk quota is used up: make room, or name another in DATA_DIR',
};

/** One sentence about a folder of ours that the file system rejected. */
export const folderRefused = (folder: string, error: unknown): StartRefused =>
  new StartRefused(
    `the data directory ${folder} cannot be used: ${PATH_PROBLEMS[codeOf(error)] ?? `the system says ${codeOf(error)}`}`,
  );

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Makes a folder and its parents. (`recursive` never ends if the file system rejects every folder, like /proc.) */
const makeFolders = async (folder: string): Promise<void> => {
  try {
    await mkdir(folder);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || (await exists(dirname(folder)))) throw error;
    await makeFolders(dirname(folder));
    await mkdir(folder);
  }
};

const noneIn = (dataDir: string): StartRefused =>
  new StartRefused(
    `no Outbox data in ${dataDir}: set DATA_DIR to the service's folder, or set DATABASE_URL and SECRET_KEY as for the service`,
  );

const isMissing = (path: string): Promise<boolean> =>
  access(path).then(
    () => false,
    (error: unknown) => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR',
  );

/** Makes `DATA_DIR` if it is missing and returns its real path. */
const prepareDataDir = async (dataDir: string): Promise<string> => {
  try {
    await makeFolders(dataDir);
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(dataDir);
  } catch (error) {
    throw folderRefused(dataDir, error);
  }
};

const hasCluster = async (folder: string): Promise<boolean> => {
  try {
    await stat(join(clusterOf(folder), 'PG_VERSION'));
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw new StartRefused(
      `the database in ${folder} belongs to another user: run Outbox as that user or as root, or change the owner (chown -R)`,
    );
  }
};

const readPointer = async (pointer: string): Promise<string | undefined> => {
  const text = await readFile(pointer, 'utf8').catch(() => '');
  return text.trim() || undefined;
};

/**
 * Records in `DATA_DIR` where a new cluster is. The first of two racing starts decides the location, and both get its
 * choice.
 */
export const point = async (pointer: string, folder: string): Promise<string> => {
  try {
    await writeFile(pointer, `${folder}\n`, { flag: 'wx', flush: true });
    return folder;
  } catch (error) {
    const written = codeOf(error) === 'EEXIST' ? await readPointer(pointer) : undefined;
    if (written === undefined) throw folderRefused(dirname(pointer), error);
    return written;
  }
};

const existing = async (folder: string, relocated: boolean): Promise<Home> => {
  const account = await chooseAccount(folder);
  if (!(await canReach(account, clusterOf(folder)))) {
    throw new StartRefused(
      `the owner of the database in ${folder} cannot reach it: run chmod o+x on each folder above it, or move it`,
    );
  }
  return { folder, account, exists: true, pointer: undefined, relocated };
};

const pointedTo = async (pointer: string, folder: string): Promise<Home> => {
  if (await hasCluster(folder)) return existing(folder, true);
  throw new StartRefused(
    `${pointer} says that the database is in ${folder}, but that folder has no database: restore it, or remove ${pointer} to start with an empty database`,
  );
};

/** A fresh name, so that removing `DATA_DIR` means starting over, and two data directories never share a home. */
const elsewhere = async (dataDir: string, { systemFolder, system }: HomeOptions): Promise<string> => {
  await mkdir(systemFolder, { recursive: true });
  await chmod(systemFolder, 0o755); // whatever our umask
  return join(systemFolder, `${basename(dataDir)}-${Buffer.from(system.randomBytes(6)).toString('hex')}`);
};

const fresh = async (dataDir: string, options: HomeOptions): Promise<Home> => {
  if (options.mustExist === true) throw noneIn(options.dataDir);
  const account = await chooseAccount();
  if (await canReach(account, dataDir)) {
    return { folder: join(dataDir, INSIDE), account, exists: false, pointer: undefined, relocated: false };
  }
  const folder = await elsewhere(dataDir, options);
  return { folder, account, exists: false, pointer: join(dataDir, POINTER), relocated: true };
};

/** @throws {StartRefused} if the folder is not ours to use, names a missing database, or lacks a required one. */
export const findHome = async (options: HomeOptions): Promise<Home> => {
  if (options.mustExist === true && (await isMissing(options.dataDir))) throw noneIn(options.dataDir);
  const dataDir = await prepareDataDir(options.dataDir);
  const inside = join(dataDir, INSIDE);
  if (await hasCluster(inside)) return existing(inside, false);
  const pointer = join(dataDir, POINTER);
  const pointed = await readPointer(pointer);
  return pointed === undefined ? fresh(dataDir, options) : pointedTo(pointer, pointed);
};
