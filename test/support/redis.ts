import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';

export interface RedisServer {
  readonly url: string;
  /** Kills the server, as a crash does. */
  crash(): Promise<void>;
  /** Restarts it with the same port and data. */
  start(): Promise<void>;
  /** Stops it from answering. Its connections stay open. */
  freeze(): void;
  thaw(): void;
  /** Deletes all data. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const isInstalled = (): boolean => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** Tests of a missing engine are skipped, except where engines are required: there they run and fail. */
export const redisIsMissing = !isInstalled() && process.env.CI_ENGINES !== 'required';

const untilItAnswers = async (url: string): Promise<void> => {
  const client = new Redis(url, { maxRetriesPerRequest: 200, retryStrategy: () => 25 });
  client.on('error', () => undefined);
  await client.ping().finally(() => client.disconnect());
};

/** A real Redis for the caller alone, with the settings recommended for production. */
export const startRedis = async (): Promise<RedisServer> => {
  const port = await freePort();
  const dir = await mkdtemp(join(tmpdir(), 'outbox-redis-'));
  const url = `redis://127.0.0.1:${port}`;
  const settings = { port, dir, bind: '127.0.0.1', appendonly: 'yes', 'maxmemory-policy': 'noeviction', save: '' };
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    child = spawn('redis-server', args, { stdio: 'ignore' });
    await Promise.race([untilItAnswers(url), once(child, 'error').then(([error]) => Promise.reject(error))]);
  };

  const crash = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };

  await start();
  return {
    url,
    crash,
    start,
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    flush: async () => {
      const client = new Redis(url);
      await client.flushall().finally(() => client.disconnect());
    },
    stop: async () => {
      await crash();
      await rm(dir, { recursive: true, force: true });
    },
  };
};
