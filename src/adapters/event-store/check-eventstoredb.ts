import { retryWhileAway } from '../../async/retry.ts';
import type { EventStore } from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { System } from '../../domain/ports/system.ts';
import { StartRefused } from '../../domain/start-refused.ts';

export interface CheckEventStoreDbOptions {
  readonly store: Pick<EventStore, 'logId'>;
  readonly system: System;
  readonly logger: Logger;
  readonly patienceMs?: number;
}

/**
 * Waits for the server of `EVENTSTORE_URL` and makes sure that it can be used, by asking for the log's id.
 * @throws {StartRefused} it is away, refuses us, or is not what we need.
 */
export const checkEventStoreDb = async ({
  store,
  system,
  logger,
  patienceMs,
}: CheckEventStoreDbOptions): Promise<void> => {
  const onWait = (): void => logger.info({}, 'waiting for the event store of EVENTSTORE_URL');
  try {
    await retryWhileAway({ system, patienceMs, onWait }, store.logId);
  } catch (error) {
    throw new StartRefused(error instanceof Error ? error.message : String(error), { cause: error });
  }
};
