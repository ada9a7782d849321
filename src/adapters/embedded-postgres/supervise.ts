import { ensureRunning, type Running, type Server, serves } from './server.ts';

/** How long the database may be gone before it is noticed. Shorter costs a look into `/proc` each time. */
const LOOK_EVERY_MS = 500;
/** Pause after a failed start. Shorter fills the log, longer keeps clients waiting once the cause is gone. */
const RETRY_MS = 2_000;

export interface Supervision {
  end(): Promise<void>;
}

const restart = async (server: Server, port: number): Promise<number> => {
  server.logger.warn({}, 'the built-in PostgreSQL exited unexpectedly: restarting it');
  const { pid } = await ensureRunning(server, port);
  server.logger.info({ pid }, 'restarted the built-in PostgreSQL');
  return pid;
};

/** Keeps the server running, at its address, until `end` is called. */
export const supervise = (server: Server, { pid: first, port }: Running): Supervision => {
  const ended = new AbortController();
  const { system, logger } = server;

  const look = async (pid: number): Promise<number> => {
    const current = (await serves({ pid }, server.folder)) ? pid : await restart(server, port);
    await system.sleep(LOOK_EVERY_MS, ended.signal);
    return current;
  };

  const recover = async (error: unknown): Promise<void> => {
    if (ended.signal.aborted) return;
    logger.error({ err: error }, 'could not restart the built-in PostgreSQL');
    await system.sleep(RETRY_MS, ended.signal);
  };

  const watch = async (): Promise<void> => {
    let pid = first;
    while (!ended.signal.aborted) {
      try {
        pid = await look(pid);
      } catch (error) {
        await recover(error).catch(() => undefined); // told to end while it slept
      }
    }
  };

  const watching = watch();
  return {
    end: async () => {
      ended.abort();
      await watching;
    },
  };
};
