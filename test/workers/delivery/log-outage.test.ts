import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { AppendOutcomeUnknown, type EventStore } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { openDelivering as open, statuses, until } from '../delivering.ts';

const HOUR_MS = 3_600_000;
/** A process that reaches the returned log so late still records before others take over. */
const LATE_MS = 1_500;

/** Two processes on one log, which goes away when the mail server has the message. */
const openOutage = async () => {
  const log = { isAway: false, refused: 0 };
  const service = await open({
    onData: async () => {
      log.isAway = true;
      return null;
    },
  });
  const { store } = service.dependencies;
  const orAway = async <Result>(fault: () => Error, call: () => Promise<Result>): Promise<Result> => {
    if (!log.isAway) return call();
    log.refused += 1;
    throw fault();
  };
  const unavailable = (): Error => new StoreUnavailable('the log does not answer');
  const watched = (lateMs: number): EventStore => ({
    ...store,
    head: () => orAway(unavailable, store.head),
    readStream: (...asked) => orAway(unavailable, () => store.readStream(...asked)),
    append: async (append) => {
      if (append.isUrgent === true) await sleep(lateMs);
      return orAway(
        () => (log.refused % 2 === 0 ? unavailable() : new AppendOutcomeUnknown('no answer')),
        () => store.append(append),
      );
    },
  });
  return {
    service,
    log,
    sender: () => service.workers({ store: watched(LATE_MS) }),
    other: () => service.workers({ store: watched(0) }),
  };
};

describe('an outage of the log that outlasts the lease of an attempt', () => {
  test('doubles nothing: the outcome is recorded before another process may claim the message', async () => {
    const { service, log, sender, other } = await openOutage();
    sender().start();
    const id = await service.send('ann@example.org');
    await until(() => expect(log.isAway).toBe(true));
    other().start();
    service.system.shift(HOUR_MS);
    const refused = log.refused;
    await until(() => expect(log.refused).toBeGreaterThan(refused + 10));
    log.isAway = false;
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    expect(await service.history(id)).toEqual(['MessageAccepted', 'AttemptStarted', 'RecipientDelivered']);
    expect(service.sink.mails).toHaveLength(1);
  });
});
