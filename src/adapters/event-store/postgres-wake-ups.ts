import { Client, type ClientConfig } from 'pg';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import { retryDelayMs } from './postgres-retry.ts';

/** While notifications come, polling only catches what they miss: rare, and then a second late. */
const POLL_LISTENING_MS = 1000;
/** Without them it is all there is: the age of what followers see, at four small queries a second for each. */
const POLL_DEAF_MS = 250;

export interface WakeUps {
  /** Counts notifications: take it before reading, and `next` does not wait for what came since. */
  count(): number;
  /** Resolves when something was appended since `count`, when it is time to look anyway, or on abort. */
  next(since: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * Listens, on a connection of its own, for what any process appends. It only makes followers quicker: they look without
 * it too, and nothing depends on a notification.
 */
export const createWakeUps = (config: ClientConfig, system: System, logger: Logger): WakeUps => {
  const closing = new AbortController();
  const waiting = new Set<() => void>();
  let notifications = 0;
  let listening = false;
  let running: Promise<unknown> | undefined;

  const wakeAll = (): void => {
    for (const one of waiting) one();
  };

  const wake = (): void => {
    notifications += 1;
    wakeAll();
  };

  /** One clock for everybody who waits. */
  const poll = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await system.sleep(listening ? POLL_LISTENING_MS : POLL_DEAF_MS, closing.signal).catch(() => {});
      wakeAll();
    }
  };

  /** Resolves when the connection is lost or no longer needed. */
  const listen = async (onListening: () => void): Promise<void> => {
    const client = new Client(config);
    const { promise: lost, resolve: end } = Promise.withResolvers<void>();
    const ended = (): void => end();
    client.on('end', ended).on('error', ended).on('notification', wake);
    closing.signal.addEventListener('abort', ended);
    try {
      await client.connect();
      await client.query('listen event_log');
      listening = true;
      onListening();
      wake(); // what was appended before is not notified any more
      await lost;
    } finally {
      listening = false;
      closing.signal.removeEventListener('abort', ended);
      client.end().catch(() => {});
    }
  };

  const listenOn = async (): Promise<void> => {
    for (let attempt = 0; !closing.signal.aborted; attempt += 1) {
      await listen(() => {
        attempt = 0;
      }).catch((error: unknown) => logger.debug({ err: error }, 'cannot listen to the log; polling it'));
      await system.sleep(retryDelayMs(system, attempt), closing.signal).catch(() => {});
    }
  };

  /** Until woken or aborted. */
  const wait = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener('abort', done);
    });

  return {
    count: () => notifications,

    next: async (since, signal) => {
      running ??= Promise.all([listenOn(), poll()]);
      if (notifications !== since || signal.aborted) return;
      await wait(signal);
    },

    close: async () => {
      closing.abort();
      await running;
    },
  };
};
