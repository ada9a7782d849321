import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** A first start makes a database cluster; these machines are slower than a user's. */
const READY_MS = 30_000;

/** The line that says that it is ready. */
interface Ready {
  /** Absent: it has not the role `api`. */
  readonly baseUrl?: string;
  readonly places: readonly string[];
  readonly liveKey?: string;
  readonly testKey?: string;
  /** For a shell. */
  readonly firstStep?: string;
  readonly inbox?: string;
}

export interface Program {
  readonly baseUrl: string;
  /** Secrets printed at a first start; empty at a later one. */
  readonly keys: { readonly live: string; readonly test: string };
  readonly ready: Ready;
  readonly readyAfterMs: number;
  readonly child: ChildProcess;
  /** Everything printed so far. */
  output(): string;
  /** When it has ended. @returns its exit code; null: a signal ended it. */
  ended(): Promise<number | null>;
  /** Ends it with a signal and waits for the end. @returns its exit code; null: the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface StartOptions {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A folder for the program's data, gone when the test is. The server's user must be able to reach it. */
export const newDataDir = async (): Promise<{ path: string; remove(): Promise<void> }> => {
  const path = await mkdtemp(join(tmpdir(), 'outbox-e2e-'));
  await chmod(path, 0o755);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
};

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once('exit', resolve));

/** What `npm start` runs: `exec node`, and these. */
const ARGUMENTS = packageJson.scripts.start.split(' ').slice(2);
/** Read by the entry with faults; the service knows none of them. */
const FAULT_VARIABLES = ['OUTBOX_FAIL_POINT', 'OUTBOX_TRIAL'];

const argumentsFor = (env: Readonly<Record<string, string>>): readonly string[] =>
  FAULT_VARIABLES.some((name) => name in env)
    ? ARGUMENTS.map((argument) => argument.replace('src/main.ts', 'chaos/service-with-faults.ts'))
    : ARGUMENTS;

/** Runs the service as its user does and waits until it says that it is ready. It leads a process group of its own. */
export const startProgram = async ({ dataDir, env = {} }: StartOptions): Promise<Program> => {
  const began = performance.now();
  const child = spawn(process.execPath, argumentsFor(env), {
    cwd: ROOT,
    detached: true,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      METRICS_PORT: '0',
      DATA_DIR: dataDir,
      LOG_LEVEL: 'info',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const whenReady = new Promise<Ready>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL'); // nothing else could
      reject(new Error(`not ready in ${READY_MS} ms:\n${output}`));
    }, READY_MS);
    const collect = (chunk: Buffer): void => {
      output += chunk.toString();
      const found = /^{.*"msg":"Outbox is ready"}$/m.exec(output);
      if (found === null) return;
      clearTimeout(timer);
      resolve(JSON.parse(found[0]));
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`ended with ${code} before it was ready:\n${output}`));
    });
  });
  const ready = await whenReady;
  const readyAfterMs = performance.now() - began;
  return {
    baseUrl: ready.baseUrl ?? '',
    keys: { live: ready.liveKey ?? '', test: ready.testKey ?? '' },
    ready,
    readyAfterMs,
    child,
    output: () => output,
    ended: () => ended(child),
    end: async (signal) => {
      child.kill(signal);
      return ended(child);
    },
  };
};

/** A run that must not become ready: what it printed, and its exit code. */
export const runToEnd = async ({
  dataDir,
  env = {},
}: StartOptions): Promise<{ code: number | null; output: string }> => {
  const started = startProgram({ dataDir, env });
  const outcome = await started.then(
    async (program) => {
      await program.end('SIGKILL');
      throw new Error(`became ready:\n${program.output()}`);
    },
    (error: Error) => error.message,
  );
  const code = /ended with (\d+|null)/.exec(outcome)?.[1];
  return { code: code === undefined || code === 'null' ? null : Number(code), output: outcome };
};
