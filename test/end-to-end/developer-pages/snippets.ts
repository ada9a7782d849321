import { execFile, execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Language } from './page.ts';

/** Runs the snippets of the pages in their languages, each in a program of its own. */

interface Toolchain {
  /** Command that shows whether it is installed. */
  readonly probe: readonly [string, ...string[]];
  readonly files: (setup: string, snippet: string) => Readonly<Record<string, string>>;
  readonly command: readonly [string, ...string[]];
}

const GO_PACKAGES: Readonly<Record<string, string>> = {
  base64: 'encoding/base64',
  fmt: 'fmt',
  json: 'encoding/json',
  log: 'log',
  os: 'os',
  url: 'net/url',
};

/** The page leaves imports and `main` to the reader's editor, as Go's own documentation does. */
const goProgram = (snippet: string): string => {
  const used = Object.entries(GO_PACKAGES).filter(([name]) => new RegExp(`\\b${name}\\.`).test(snippet));
  const imports = used.map(([, path]) => `import "${path}"\n`).join('');
  return `package main\n${imports}\nfunc main() {\n${snippet}}\n`;
};

const TOOLCHAINS: Readonly<Record<Language, Toolchain>> = {
  sh: {
    probe: ['curl', '--version'],
    files: (setup, snippet) => ({ 'snippet.sh': `set -euo pipefail\n${setup}${snippet}` }),
    command: ['bash', 'snippet.sh'],
  },
  ts: {
    probe: [process.execPath, '--version'],
    files: (setup, snippet) => ({ 'snippet.mts': setup + snippet }),
    command: [process.execPath, 'snippet.mts'],
  },
  python: {
    probe: ['python3', '--version'],
    files: (setup, snippet) => ({ 'snippet.py': setup + snippet }),
    command: ['python3', 'snippet.py'],
  },
  php: {
    probe: ['php', '--version'],
    files: (setup, snippet) => ({ 'snippet.php': `<?php\n${setup}${snippet}` }),
    command: ['php', '-d', 'error_reporting=-1', '-d', 'display_errors=stderr', 'snippet.php'],
  },
  go: {
    probe: ['go', 'version'],
    files: (setup, snippet) => ({ 'outbox.go': setup, 'main.go': goProgram(snippet) }),
    command: ['go', 'run', 'outbox.go', 'main.go'],
  },
  ruby: {
    probe: ['ruby', '--version'],
    files: (setup, snippet) => ({ 'snippet.rb': setup + snippet }),
    command: ['ruby', '-w', 'snippet.rb'],
  },
};

const isInstalled = ([program, ...args]: Toolchain['probe']): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

export const isMissing = (language: Language): boolean =>
  !isInstalled(TOOLCHAINS[language].probe) && process.env.CI_ENGINES !== 'required';

interface Place {
  /** Holds the files that the snippets read, and the installed SDK. */
  readonly folder: string;
  readonly url: string;
  readonly key: string;
}

/** @throws if the program fails or complains. */
export const runSnippet = async (
  language: Language,
  { setup, snippet }: { readonly setup: string; readonly snippet: string },
  { folder, url, key }: Place,
): Promise<void> => {
  const { files, command } = TOOLCHAINS[language];
  const [program, ...args] = command;
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files(setup, snippet))) await writeFile(join(folder, name), text);
  const { stderr } = await promisify(execFile)(program, args, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      LANG: 'C.UTF-8',
      GO111MODULE: 'off',
      GOFLAGS: '',
      GOCACHE: join(folder, '.go-build'),
      NODE_NO_WARNINGS: '1',
      OUTBOX_URL: url,
      OUTBOX_API_KEY: key,
    },
  });
  if (stderr !== '') throw new Error(`${command.join(' ')} wrote to stderr:\n${stderr}`);
};
