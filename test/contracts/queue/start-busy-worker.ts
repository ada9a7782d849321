import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const SCRIPT = fileURLToPath(new URL('worker-process.ts', import.meta.url));

/** Starts a worker process that takes one job and holds it until it is killed. */
export const startBusyWorker = async (url: string, queue: string) => {
  const child = spawn(process.execPath, [SCRIPT, url, queue], { stdio: ['ignore', 'pipe', 'inherit'] });
  const busy = once(child.stdout, 'data');
  const ended = once(child, 'exit');
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return {
    untilBusy: async () => {
      await Promise.race([busy, ended.then(() => Promise.reject(new Error('the worker ended early')))]);
    },
    /** Sends SIGTERM, so that it closes its queues. Returns its exit code. */
    terminate: async (): Promise<number | null> => {
      child.kill('SIGTERM');
      const [code] = await ended;
      return code;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
};
