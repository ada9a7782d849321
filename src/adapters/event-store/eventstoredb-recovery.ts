import type { Logger } from '../../domain/ports/logger.ts';
import type { Connection } from './eventstoredb-connection.ts';
import { isTransient, readFault, sentenceOf } from './eventstoredb-faults.ts';

/** First wait before subscribing again. Shorter hammers a server that is starting; longer delays everything behind it. */
const RETRY_MS_MIN = 100;
/** Longest wait: what a recovered server may take to be noticed, against attempts during a long outage. */
const RETRY_MS_MAX = 2_000;

/** What a process's followers do when the server is away: one line in the log, and waits that grow. */
export interface Recovery {
  /** Waits before another attempt after a fault. @throws what makes that vain. */
  recover(error: unknown, signal: AbortSignal): Promise<void>;
  /** Something came: the next fault is the first of its kind. */
  works(): void;
}

/** Between half and all of a time that doubles with every failure, so that processes do not return in step. */
const retryMs = (failures: number, random: number): number =>
  Math.min(RETRY_MS_MIN * 2 ** (failures - 1), RETRY_MS_MAX) * (0.5 + random / 2);

export const createRecovery = ({ system, hosts }: Pick<Connection, 'system' | 'hosts'>, logger: Logger): Recovery => {
  let failures = 0;
  return {
    recover: async (error, signal) => {
      if (signal.aborted) return;
      if (!isTransient(error)) throw readFault(error, hosts);
      failures += 1;
      if (failures === 1) logger.warn({ reason: sentenceOf(error, hosts) }, 'lost the event store; subscribing again');
      const [byte = 0] = system.randomBytes(1);
      await system.sleep(retryMs(failures, byte / 255), signal).catch(() => {}); // aborted
    },
    works: () => {
      failures = 0;
    },
  };
};
