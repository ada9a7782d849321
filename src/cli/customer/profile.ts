import { constants } from 'node:fs';
import { access, mkdir, open, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../replace-file.ts';
import { CommandFailed, EXIT, UsageError } from '../terminal.ts';

/**
 * Stores the address and credentials of a service. `outbox login` keeps them in one file per profile, readable only by
 * its owner; `OUTBOX_URL` and `OUTBOX_API_KEY` take precedence. A file that others can read or write is rejected.
 */

const profileSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  /** API key: `ob_live_…`. */
  key: z.string().max(200).optional(),
  /** A member's session cookie, as `name=value`. */
  session: z.string().max(500).optional(),
  environment: z.enum(['live', 'test']).optional(),
});
export type Profile = z.infer<typeof profileSchema>;

const NAME = /^[A-Za-z0-9][\w-]{0,39}$/;
const FILE_BYTES_MAX = 10_000;
const OTHERS = 0o077;

const folder = (): string => {
  const { XDG_CONFIG_HOME: given = '' } = process.env;
  // The XDG base directory specification requires relative paths to be ignored.
  return join(isAbsolute(given) ? given : join(homedir(), '.config'), 'outbox');
};

/**
 * The profile name: the option, or else `OUTBOX_PROFILE`, or else `default`. @throws {UsageError} if it is not a valid
 * file name.
 */
export const profileName = (option: string | undefined): string => {
  const name = option ?? (process.env.OUTBOX_PROFILE || 'default');
  if (NAME.test(name)) return name;
  throw new UsageError('a profile name must have 1 to 40 letters, digits, - or _');
};

export const profilePath = (name: string): string => join(folder(), `${name}.json`);

type ErrnoError = NodeJS.ErrnoException;

/**
 * Reads a private file; null if it does not exist. @throws {CommandFailed} if others can read it or it is not a regular
 * file.
 */
const readPrivateFile = async (path: string): Promise<string | null> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: ErrnoError) => {
      if (error.code === 'ENOENT') return null;
      throw new CommandFailed(`${path} ${error.code === 'ELOOP' ? 'is a symbolic link' : 'cannot be read'}`);
    },
  );
  if (file === null) return null;
  try {
    const { mode, uid, size, isFile } = await file.stat().then((stats) => ({
      mode: stats.mode,
      uid: stats.uid,
      size: stats.size,
      isFile: stats.isFile(),
    }));
    if (!isFile || size > FILE_BYTES_MAX)
      throw new CommandFailed(`${path} is damaged: sign in again with \`outbox login\``);
    const isOurs = process.getuid === undefined || uid === process.getuid();
    if (!isOurs) throw new CommandFailed(`${path} belongs to another user: sign in again`);
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw new CommandFailed(
        `other users can read ${path}: rotate the key in it, then run \`chmod 600 ${path}\``,
        EXIT.unauthorized,
      );
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
};

/** Atomically writes a file that only its owner can read. */
const writePrivateFile = async (path: string, text: string): Promise<void> => {
  await mkdir(folder(), { recursive: true, mode: 0o700 });
  await replaceFile(path, text, 0o600);
};

/** @returns null if the profile has no credentials. @throws {CommandFailed} */
export const readProfile = async (name: string): Promise<Profile | null> => {
  const path = profilePath(name);
  const text = await readPrivateFile(path);
  if (text === null) return null;
  try {
    return profileSchema.parse(JSON.parse(text));
  } catch {
    throw new CommandFailed(`${path} is damaged: sign in again with \`outbox login\``);
  }
};

export const writeProfile = (name: string, profile: Profile): Promise<void> =>
  writePrivateFile(profilePath(name), `${JSON.stringify(profile, null, 2)}\n`);

/** @returns true if the profile existed. */
export const removeProfile = async (name: string): Promise<boolean> => {
  const path = profilePath(name);
  const isThere = (await readPrivateFile(path).catch(() => '')) !== null;
  await rm(path, { force: true });
  return isThere;
};

/** The secret of `webhooks listen`, created on first use and then reused. @param make creates the secret. */
export const keptSecret = async (file: string, make: () => string): Promise<string> => {
  const path = join(folder(), file);
  const kept = await readPrivateFile(path);
  if (kept !== null) return kept.trim();
  const made = make();
  await writePrivateFile(path, `${made}\n`);
  return made;
};

/** Normalizes the base URL of a service, without a trailing slash. @throws {UsageError} */
export const serviceUrl = (text: string, from: string): string => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UsageError(`${from} must be an http or https URL`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new UsageError(`${from} must not contain a user, a query or a #`);
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
};

/** Address and credentials of a service. */
export interface Target {
  readonly url: string;
  readonly key?: string | undefined;
  readonly session?: string | undefined;
  readonly environment?: 'live' | 'test' | undefined;
  /** The profile that provided all values; null: some came from the environment. */
  readonly profile: string | null;
}

const unsigned = (message: string): CommandFailed => new CommandFailed(message, EXIT.unauthorized);

const signedIn = async (name: string): Promise<Target> => {
  const profile = await readProfile(name);
  if (profile !== null) return { ...profile, profile: name };
  throw unsigned(
    `not signed in (profile ${name}): sign in with \`outbox login\`, or set OUTBOX_URL and OUTBOX_API_KEY`,
  );
};

/** Combines environment variables with the profile for what they leave out. @throws {CommandFailed} */
const fromEnvironment = async (name: string, given: string, key: string): Promise<Target> => {
  const url = given === '' ? undefined : serviceUrl(given, 'OUTBOX_URL');
  if (url !== undefined && key !== '') return { url, key, profile: null };
  const kept = await readProfile(name);
  if (url === undefined && kept !== null) return { url: kept.url, key, profile: null };
  // Credentials of one service must not be sent to another.
  if (kept !== null && kept.url === url) return { ...kept, profile: name };
  throw unsigned(`${url === undefined ? 'OUTBOX_URL' : 'OUTBOX_API_KEY'} is not set`);
};

/** True if variables or the default profile name a service. */
export const isSignedIn = async (): Promise<boolean> => {
  const { OUTBOX_URL: url = '', OUTBOX_API_KEY: key = '', OUTBOX_PROFILE: profile = '' } = process.env;
  if (`${url}${key}${profile}` !== '') return true;
  return access(profilePath(profileName(undefined))).then(
    () => true,
    () => false,
  );
};

/** @param option profile requested by name, which takes precedence. @throws {CommandFailed} if the profile has no credentials. */
export const resolveTarget = async (option: string | undefined): Promise<Target> => {
  const name = profileName(option);
  const { OUTBOX_URL: url = '', OUTBOX_API_KEY: key = '' } = process.env;
  return option !== undefined || `${url}${key}` === '' ? signedIn(name) : fromEnvironment(name, url, key);
};

/** The service's address, for callers with their own key. @throws {CommandFailed} if no address is configured. */
export const resolveUrl = async (option: string | undefined): Promise<string> => {
  const { OUTBOX_URL: given = '' } = process.env;
  if (option === undefined && given !== '') return serviceUrl(given, 'OUTBOX_URL');
  return (await signedIn(profileName(option))).url;
};
