import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { claimAttempt } from '../../../src/commands/message/attempt.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { REMOTE_ATTEMPT_TIMES } from '../../../src/workers/create-workers.ts';
import { type Delivering, openDelivering, statuses, until } from '../delivering.ts';

/** With these times, a confirmation of a claim by the log is valid for half a second. */
const TIMES = { attemptMs: 2_000, leaseMs: 4_000 };
const LONGER_THAN_HEARD_MS = 900;

interface ClaimWorld extends Delivering {
  /** Resolves when the server has received a recipient, to which it replies after a delay. */
  readonly asked: Promise<void>;
  /** Number of reads of message streams by the workers. */
  reads(): number;
  /** Makes the workers' reads of streams fail. */
  failReads(isFailing: boolean): void;
}

/** A server that delays its first client before the message, for longer than a confirmation is valid. */
const openSlow = async (waitMs = LONGER_THAN_HEARD_MS, times = TIMES): Promise<ClaimWorld> => {
  const asked = Promise.withResolvers<void>();
  let count = 0;
  const service = await openDelivering({
    times,
    onRcpt: async () => {
      count += 1;
      asked.resolve();
      if (count === 1) await sleep(waitMs);
      return null;
    },
  });
  const { store } = service.dependencies;
  let reads = 0;
  let isFailing = false;
  const counting: EventStore = {
    ...store,
    readStream: async (stream, options) => {
      reads += stream.startsWith('message-') ? 1 : 0;
      if (isFailing) throw new StoreUnavailable('the log does not answer');
      return store.readStream(stream, options);
    },
  };
  service.workers({ store: counting }).start();
  return {
    ...service,
    asked: asked.promise,
    reads: () => reads,
    failReads: (fails) => {
      isFailing = fails;
    },
  };
};

/** Claims the message like another process whose clock is past the end of the lease. */
const takeOver = async ({ context, system }: Delivering, messageId: string): Promise<void> => {
  const now = () => new Date(system.now().getTime() + TIMES.leaseMs + 1_000);
  await claimAttempt({ store: context.store, system: { ...system, now } }, { messageId, leaseMs: 60_000, random: 0.5 });
};

/** Resolves when the attempt has ended, with or without a reply. */
const attemptEnded = ({ logger }: Delivering, messageId: string): Promise<void> =>
  until(() => expect(logger.fieldsOf('info')).toContainEqual(expect.objectContaining({ messageId, attempt: 1 })));

describe('an attempt that is slow to reach its final dot', () => {
  test('does not complete a message that another process has claimed, even if none of its own clocks shows why', async () => {
    const service = await openSlow();
    const id = await service.send('ann@example.org');
    await service.asked;
    await takeOver(service, id);
    await attemptEnded(service, id);
    expect(service.sink.mails).toHaveLength(0);
    expect(await service.history(id)).toEqual(['MessageAccepted', 'AttemptStarted', 'AttemptOutcomeUnknown']);
    service.system.shift(TIMES.leaseMs + 10_000);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    expect(service.sink.mails).toHaveLength(1);
  });

  test('completes the message if the claim is still valid, after one read', async () => {
    const service = await openSlow();
    const id = await service.send('ann@example.org');
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    expect(service.sink.mails).toHaveLength(1);
    expect(service.reads()).toBe(1);
  });

  test('does not complete it while the log does not answer', async () => {
    const service = await openSlow();
    const id = await service.send('ann@example.org');
    await service.asked;
    service.failReads(true);
    await attemptEnded(service, id);
    expect(service.sink.mails).toHaveLength(0);
    service.failReads(false);
    service.system.shift(120_000);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    expect(service.sink.mails).toHaveLength(1);
  });
});

describe('an attempt', () => {
  test('does not complete a message after a suspension of the machine that only the wall clock shows', async () => {
    const service = await openSlow(200);
    const id = await service.send('ann@example.org');
    await service.asked;
    service.system.shift(TIMES.attemptMs);
    await attemptEnded(service, id);
    expect(service.sink.mails).toHaveLength(0);
    service.system.shift(120_000);
    await until(async () => expect(await statuses(service, id)).toEqual(['delivered']));
    expect(service.sink.mails).toHaveLength(1);
  });

  test('reads nothing from the log if it is in time', async () => {
    const service = await openSlow(0, REMOTE_ATTEMPT_TIMES);
    const ids = await Promise.all(Array.from({ length: 30 }, (_, number) => service.send(`u${number}@example.org`)));
    await until(async () => {
      for (const id of ids) expect(await statuses(service, id)).toEqual(['delivered']);
    });
    expect(service.reads()).toBe(0);
  });
});
