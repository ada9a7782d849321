import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Time limit for a start. Only a hang takes this long, also on a machine with ten times the load. */
const READY_MS = 100_000;

/** The line that reports readiness. */
interface Ready {
  /** Absent without the role `api`. */
  readonly baseUrl?: string;
  readonly places: readonly string[];
  readonly liveKey?: string;
  readonly testKey?: string;
  /** A shell command. */
  readonly firstStep?: string;
  readonly inbox?: string;
}

export interface Program {
  readonly baseUrl: string;
  /** Secrets printed on the first start. Empty on later ones. */
  readonly keys: { readonly live: string; readonly test: string };
  readonly ready: Ready;
  readonly readyAfterMs: number;
  readonly child: ChildProcess;
  /** Everything printed so far. */
  output(): string;
  /** Waits until it has ended. @returns its exit code, or null if a signal ended it. */
  ended(): Promise<number | null>;
  /** Ends it with a signal and waits for the end. @returns its exit code, or null if the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface StartOptions {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A data folder that is removed after the test. The server's user must be able to reach it. */
export const newDataDir = async (): Promise<{ path: string; remove(): Promise<void> }> => {
  const path = await mkdtemp(join(tmpdir(), 'outbox-e2e-'));
  await chmod(path, 0o755);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
};

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once('exit', resolve));

/** Arguments from `npm start`, without `exec node`. */
const ARGUMENTS = packageJson.scripts.start.split(' ').slice(2);
/** Read by the entry point with fault injection only. The service does not know them. */
const FAULT_VARIABLES = ['OUTBOX_FAIL_POINT', 'OUTBOX_TRIAL'];

const argumentsFor = (env: Readonly<Record<string, string>>): readonly string[] =>
  FAULT_VARIABLES.some((name) => name in env)
    ? ARGUMENTS.map((argument) => argument.replace('src/main.ts', 'chaos/service-with-faults.ts'))
    : ARGUMENTS;

/** Runs the service as a user does and waits until it is ready. It leads its own process group. */
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
      child.kill('SIGKILL'); // no other signal could
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

/** Runs a program that must not become ready. @returns its output and its exit code. */
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
