import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { type Append, AppendOutcomeUnknown, type EventStore } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { REMOTE_ATTEMPT_TIMES } from '../../../src/workers/create-workers.ts';
import { createUnrecordedOutcomes } from '../../../src/workers/delivery/record.ts';
import { type Delivering, openDelivering, statuses, until } from '../delivering.ts';

/** Outcomes that may wait for the log, plus sessions whose server may be processing a message at that time. */
const IN_DOUBT_MAX = 16 + 20;

const isOutcome = ({ events }: Append): boolean => events.some(({ type }) => type === 'RecipientDelivered');

/** @param beforeOutcome runs before the log records the outcome of an attempt. */
const openWith = async (beforeOutcome: () => Promise<void>): Promise<Delivering> => {
  // Long deadlines, which a busy machine does not miss.
  const service = await openDelivering({ times: REMOTE_ATTEMPT_TIMES });
  const { store } = service.dependencies;
  const append: EventStore['append'] = async (one) => {
    if (isOutcome(one)) await beforeOutcome();
    return store.append(one);
  };
  service.workers({ store: { ...store, append } }).start();
  return service;
};

const allDelivered = async (service: Delivering, ids: readonly string[]): Promise<void> => {
  const all = await Promise.all(ids.map((id) => statuses(service, id)));
  expect(new Set(all.flat())).toEqual(new Set(['delivered']));
};

describe('a log that lags with outcomes', () => {
  test('allows no more messages to be completed than a crash may send twice', async () => {
    const caughtUp = Promise.withResolvers<void>();
    const service = await openWith(() => caughtUp.promise);
    const ids = await Promise.all(Array.from({ length: 200 }, (_, number) => service.send(`u${number}@example.org`)));
    await until(() => expect(service.sink.mails.length).toBeGreaterThanOrEqual(16));
    // Many turns of the loop, in each of which another message could be sent.
    for (let turn = 0; turn < 2_000; turn += 1) await nextTurn();
    expect(service.sink.mails.length).toBeLessThanOrEqual(IN_DOUBT_MAX);
    caughtUp.resolve();
    await until(() => allDelivered(service, ids));
    expect(service.sink.mails).toHaveLength(200);
  });

  // A command immediately retries an append of unknown outcome a few times.
  test.each([
    ['does not answer', false, () => new StoreUnavailable('the log does not answer')],
    ['leaves open whether it recorded the outcome', true, () => new AppendOutcomeUnknown('no answer')],
  ])(
    'that %s for longer than four attempts receives the outcome later: nothing is sent again',
    async (_, isRetriedAtOnce, fault) => {
      let failures = isRetriedAtOnce ? 24 : 6;
      const service = await openWith(async () => {
        failures -= 1;
        if (failures >= 0) throw fault();
      });
      const id = await service.send('ann@example.org');
      await until(() => expect(service.sink.mails).toHaveLength(1));
      await until(() => allDelivered(service, [id]));
      expect(await service.history(id)).toEqual(['MessageAccepted', 'AttemptStarted', 'RecipientDelivered']);
      expect(service.sink.mails).toHaveLength(1);
    },
  );
});

/** Unrecorded outcomes with their own clock, which end on request. */
const openRecords = ({ tickMs }: { readonly tickMs?: number } = {}) => {
  let ms = 0;
  let ticks = 0;
  const tick = async (ms: number): Promise<void> => {
    ticks += 1;
    await sleep(tickMs ?? ms);
  };
  const unrecorded = createUnrecordedOutcomes({ ...createSystem(), monotonicMs: () => ms, sleep: tick });
  const ends: (() => void)[] = [];
  const begin = (): Promise<void> => unrecorded.during(() => new Promise<void>((resolve) => ends.push(resolve)));
  return {
    unrecorded,
    ticks: () => ticks,
    begin,
    /** Fills all free room. @returns the number of outcomes. */
    fill: (): number => {
      let count = 0;
      for (; unrecorded.hasRoom(); count += 1) void begin();
      return count;
    },
    endAllAfter: async (tookMs: number): Promise<void> => {
      ms += tookMs;
      for (const end of ends.splice(0)) end();
      await sleep(0);
    },
    advance: (byMs: number): void => {
      ms += byMs;
    },
    endOne: async (): Promise<void> => {
      ends.shift()?.();
      await sleep(0);
    },
  };
};

describe('a message that its mail server is processing', () => {
  test('counts from its final dot until its outcome is recorded', async () => {
    const { unrecorded, begin, endOne } = openRecords();
    const answers = Array.from({ length: 16 }, () => unrecorded.complete());
    expect(unrecorded.hasRoom()).toBe(false);
    for (const answered of answers) {
      void begin();
      answered();
      answered();
    }
    expect(unrecorded.hasRoom()).toBe(false);
    await endOne();
    expect(unrecorded.hasRoom()).toBe(true);
  });

  test('stops counting when the server is slow, so that mail to others is sent', async () => {
    const { unrecorded, ticks } = openRecords({ tickMs: 1 });
    for (let count = 0; count < 16; count += 1) unrecorded.complete();
    await unrecorded.room(() => true);
    expect(ticks()).toBe(3);
  });

  test('counts for as long as this process is too busy to read the answer', async () => {
    const { unrecorded, advance, ticks } = openRecords({ tickMs: 0 });
    const answers = Array.from({ length: 16 }, () => unrecorded.complete());
    let isOver = false;
    void unrecorded
      .room(() => true)
      .then(() => {
        isOver = true;
      });
    advance(60_000);
    expect([isOver, unrecorded.hasRoom()]).toEqual([false, false]);
    answers[0]?.();
    await until(() => expect(isOver).toBe(true));
    expect(ticks()).toBe(1);
  });
});

describe('room for another outcome', () => {
  test('is given to one waiting caller for each recorded outcome, and passed on if unused', async () => {
    const { unrecorded, fill, endOne } = openRecords();
    expect(fill()).toBe(16);
    const turns: number[] = [];
    void unrecorded.room(() => true).then(() => turns.push(1));
    void unrecorded.room(() => true).then(() => turns.push(2));
    await endOne();
    expect([unrecorded.hasRoom(), turns]).toEqual([true, [1]]);
    unrecorded.passOn();
    await sleep(0);
    expect(turns).toEqual([1, 2]);
  });

  test('is no longer awaited by a caller that does not need it', async () => {
    const { unrecorded, fill, ticks } = openRecords({ tickMs: 1 });
    fill();
    let isWanted = true;
    let isOver = false;
    void unrecorded
      .room(() => isWanted)
      .then(() => {
        isOver = true;
      });
    await until(() => expect(ticks()).toBeGreaterThan(60)); // it has checked twice
    expect(isOver).toBe(false);
    isWanted = false;
    await until(() => expect(isOver).toBe(true));
    expect(unrecorded.hasRoom()).toBe(false);
  });

  test('shrinks while the log is slow, and grows back when it is fast again', async () => {
    const { fill, endAllAfter } = openRecords();
    expect(fill()).toBe(16);
    await endAllAfter(150);
    expect(fill()).toBe(13);
    for (let round = 0; round < 6; round += 1) {
      await endAllAfter(2_000);
      fill();
    }
    await endAllAfter(2_000);
    expect(fill()).toBe(8);
    for (let round = 0; round < 12; round += 1) {
      await endAllAfter(20);
      fill();
    }
    await endAllAfter(20);
    expect(fill()).toBe(16);
  });
});
