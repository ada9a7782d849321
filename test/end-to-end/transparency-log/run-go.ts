import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Go's transparency log as packaged by Debian: golang-go, golang-golang-x-mod-dev. */
const PACKAGES = '/usr/share/gocode';

const isInstalled = (): boolean => {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return existsSync(join(PACKAGES, 'src/golang.org/x/mod/sumdb/tlog'));
  } catch {
    return false;
  }
};
export const goIsMissing = !isInstalled() && process.env.CI_ENGINES !== 'required';

const fileOf = (name: string): string => new URL(`${name}.go`, import.meta.url).pathname;

/** Runs a program of this folder. @returns its output, parsed as JSON. @throws if its exit code is not 0. */
export const runGo = async (
  program: 'check' | 'served',
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<unknown> => {
  const { stdout } = await promisify(execFile)('go', ['run', fileOf(program), fileOf('cosigner'), ...args], {
    env: {
      ...process.env,
      GO111MODULE: 'off',
      GOPATH: PACKAGES,
      GOCACHE: join(tmpdir(), 'outbox-go-build'),
      GOFLAGS: '',
      ...environment,
    },
  });
  return JSON.parse(stdout);
};
