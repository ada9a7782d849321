import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Secrets, WrongSecretKey } from '../../domain/ports/secrets.ts';
import { StartRefused, type System } from '../../lib/async/async.ts';

/** An otherwise unused row, stored at the very first start. It opens only if the key is still the same. */
export const CANARY = 'secret-key-check';

/**
 * Checks at the start, not at the first delivery, that this process can open stored secrets.
 * @throws {StartRefused} if `SECRET_KEY` is not the one that the secrets were stored under.
 */
export const checkSecretKey = async (secrets: Secrets): Promise<void> => {
  try {
    await secrets.put(CANARY, '', 'the key is right');
    await secrets.get(CANARY);
  } catch (error) {
    if (!(error instanceof WrongSecretKey)) throw error;
    throw new StartRefused(
      'the secrets in the database were encrypted under another SECRET_KEY: set that one (for the built-in database it is in the file secret-key of DATA_DIR), or, while you rotate it, set it as PREVIOUS_SECRET_KEY',
    );
  }
};

const FILE = 'secret-key';
const KEY_BYTES = 32;

const read = async (path: string): Promise<string | undefined> => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new StartRefused(`${path} cannot be read (${code}): let this user read it, or set SECRET_KEY`);
  }
};

/** Written to disk completely before it gets its name. Of two racing starts, one key wins. */
const make = async (path: string, system: System): Promise<void> => {
  const partial = `${path}.${system.uuid()}`;
  try {
    const key = Buffer.from(system.randomBytes(KEY_BYTES)).toString('base64url');
    await writeFile(partial, `${key}\n`, { flag: 'wx', mode: 0o600, flush: true });
    await link(partial, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST')
      throw new StartRefused(`${path} cannot be written (${code}): make DATA_DIR writable, or set SECRET_KEY`);
  } finally {
    await rm(partial, { force: true });
  }
};

/**
 * `SECRET_KEY` of a service that has none configured. It is made once in `DATA_DIR`, which must exist, and read from
 * there ever after.
 * @throws {StartRefused} if it can be neither read nor written.
 */
export const loadOrMakeSecretKey = async (dataDir: string, system: System): Promise<string> => {
  const path = join(dataDir, FILE);
  const found = await read(path);
  if (found !== undefined && found !== '') return found;
  if (found === '') throw new StartRefused(`${path} is empty: restore it from a backup, or set SECRET_KEY`);
  await make(path, system);
  return (await read(path)) ?? '';
};
