import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const isInstalled = (): boolean => {
  try {
    execFileSync('opendkim', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** Tests of a missing engine are skipped, except where engines are required: there they run and fail. */
export const opendkimIsMissing = !isInstalled() && process.env.CI_ENGINES !== 'required';

const VERDICT = /\bdkim=(\w+)[^;]*?header\.a=(\S+) header\.s=(\S+)/g;

export interface Opendkim {
  /** The verdict on each signature of a message: `pass rsa-sha256 selector`. */
  verify(raw: Buffer): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** OpenDKIM, a verifier that many servers run. It uses the caller's records instead of DNS. */
export const openOpendkim = async (records: readonly (readonly [name: string, text: string])[]): Promise<Opendkim> => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-opendkim-'));
  const [conf, keys, mail] = ['conf', 'keys', 'mail'].map((name) => join(folder, name)) as [string, string, string];
  await writeFile(keys, records.map(([name, text]) => `${name} ${text}\n`).join(''));
  await writeFile(conf, `TestPublicKeys ${keys}\nMode v\nAlwaysAddARHeader yes\n`);
  return {
    verify: async (raw) => {
      await writeFile(mail, raw);
      // The exit code reflects one signature only.
      const { stdout } = await promisify(execFile)('opendkim', ['-x', conf, '-vv', '-t', mail]).catch(
        (error: { stdout: string }) => error,
      );
      return [...stdout.matchAll(VERDICT)].map(
        ([, verdict, algorithm, selector]) => `${verdict} ${algorithm} ${selector}`,
      );
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
};
