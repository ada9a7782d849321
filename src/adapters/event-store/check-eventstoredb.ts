import { type EventStore, StoreUnavailable } from '../../domain/event-store.ts';
import type { Logger } from '../../domain/logger.ts';
import { StartRefused } from '../../domain/start-refused.ts';
import type { System } from '../../domain/system.ts';

export interface CheckEventStoreDbOptions {
  readonly store: Pick<EventStore, 'logId'>;
  readonly system: System;
  readonly logger: Logger;
  /** How long a server may be away when we start: longer hides a wrong address, shorter fails where both start at once. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 15_000;
const RETRY_MS = 500;
/** Tries that are told as one line. */
const TELL_EVERY = 10;

const sentenceOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Waits for the server of `EVENTSTORE_URL` and makes sure that it can be used, by asking for the log's id.
 * @throws {StartRefused} it is away, refuses us, or is not what we need.
 */
export const checkEventStoreDb = async (options: CheckEventStoreDbOptions): Promise<void> => {
  const { store, system, logger, patienceMs = PATIENCE_MS } = options;
  const deadline = system.monotonicMs() + patienceMs;
  const isThere = async (): Promise<boolean> => {
    try {
      await store.logId();
      return true;
    } catch (error) {
      const isPatient = error instanceof StoreUnavailable && system.monotonicMs() < deadline;
      if (!isPatient) throw new StartRefused(sentenceOf(error), { cause: error });
      return false;
    }
  };
  for (let tries = 0; !(await isThere()); tries += 1) {
    if (tries % TELL_EVERY === 0) logger.info({}, 'waiting for the event store of EVENTSTORE_URL');
    await system.sleep(RETRY_MS);
  }
};
