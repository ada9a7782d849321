import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { Message } from '../../../src/domain/message/message.ts';
import type { SuccessfulClaim } from '../../../src/workers/delivery/claim.ts';
import { type Completion, completionOf, type FencedAttempt, momentOf } from '../../../src/workers/delivery/fence.ts';
import { createUnrecordedOutcomes } from '../../../src/workers/delivery/record.ts';
import { createSteppableSystem } from '../../support/system.ts';

/** With these times, a confirmation of a claim by the log is valid for ten seconds. */
const TIMES = { attemptMs: 240_000, leaseMs: 300_000 };
const CONFIRMED_MS_MAX = 10_000;

/** A claim with only the fields that the fence reads. */
const claimOf = (leasedTo: number | null, leasedToOther: number | null): SuccessfulClaim =>
  ({
    attempt: 1,
    message: {
      revision: 1,
      state: {
        status: 'sending',
        accepted: { messageId: 'msg_a' },
        recipients: [
          { id: 'rcp_a', lease: leasedTo === null ? null : { attempt: leasedTo } },
          { id: 'rcp_of_another_mail', lease: leasedToOther === null ? null : { attempt: leasedToOther } },
        ],
      } as unknown as Message,
    },
  }) as unknown as SuccessfulClaim;

interface FenceWorld {
  readonly system: ReturnType<typeof createSteppableSystem>;
  readonly completion: Completion;
  readonly abort: AbortController;
  /** Duration and outcome of the next reads of the log. When none is left, reads succeed immediately. */
  readonly reads: { tookMs: number; fails?: boolean }[];
  asked(): number;
}

const open = ({
  leasedTo = 1,
  leasedToOther = null,
  wallAheadMs = () => 0,
}: {
  leasedTo?: number | null;
  leasedToOther?: number | null;
  wallAheadMs?: () => number;
} = {}) => {
  const stepped = createSteppableSystem();
  const system = { ...stepped, now: () => new Date(stepped.now().getTime() + wallAheadMs()) };
  const reads: FenceWorld['reads'] = [];
  let asked = 0;
  const readStream: EventStore['readStream'] = async () => {
    asked += 1;
    const read = reads.shift() ?? { tookMs: 0 };
    if (read.tookMs > 0) await system.sleep(read.tookMs);
    if (read.fails === true) throw new Error('the log does not answer');
    return [];
  };
  const abort = new AbortController();
  const begun = momentOf(system);
  const attempt: FencedAttempt = {
    claim: claimOf(leasedTo, leasedToOther),
    recipientIds: new Set(['rcp_a']),
    begun,
    confirmed: begun,
    signal: abort.signal,
  };
  const unrecorded = createUnrecordedOutcomes(system);
  const completion = completionOf({ store: { readStream } as EventStore, system, times: TIMES, unrecorded }, attempt);
  return { system, completion, abort, reads, asked: () => asked, unrecorded };
};

/** True if the final dot may be sent, after the clock has advanced by `ms`. */
const answer = async ({ system, completion }: Pick<FenceWorld, 'system' | 'completion'>, ms = 0): Promise<boolean> => {
  const may = Promise.resolve(completion.mayComplete());
  await system.advance(ms);
  return may;
};

/** Takes all free places. @returns what frees each of them. */
const placesIn = (unrecorded: Pick<ReturnType<typeof createUnrecordedOutcomes>, 'hasRoom' | 'complete'>) => {
  const ends: (() => void)[] = [];
  while (unrecorded.hasRoom()) ends.push(unrecorded.complete());
  return ends;
};

describe('the final dot', () => {
  test.each([0, 1, CONFIRMED_MS_MAX])('is sent %i ms after the claim without a read of the log', async (ms) => {
    const opened = open();
    await opened.system.advance(ms);
    expect([await answer(opened), opened.asked()]).toEqual([true, 0]);
  });

  test('is sent later only if the log confirms the claim, with a single read', async () => {
    const opened = open();
    await opened.system.advance(CONFIRMED_MS_MAX + 1);
    expect([await answer(opened), opened.asked()]).toEqual([true, 1]);
    await opened.system.advance(CONFIRMED_MS_MAX);
    expect([await answer(opened), opened.asked()]).toEqual([true, 1]);
  });

  test.each([null, 2])('is not sent if the claim is lost: the lease is of %s', async (leasedTo) => {
    const opened = open({ leasedTo });
    await opened.system.advance(CONFIRMED_MS_MAX + 1);
    expect(await answer(opened)).toBe(false);
  });

  test('is not sent if the claim is lost for the recipients of this mail, even if others of the attempt have theirs', async () => {
    const opened = open({ leasedTo: null, leasedToOther: 1 });
    await opened.system.advance(CONFIRMED_MS_MAX + 1);
    expect(await answer(opened)).toBe(false);
  });

  test('waits for room that others used up while the log confirmed the claim', async () => {
    const { system, completion, reads, unrecorded } = open();
    await system.advance(CONFIRMED_MS_MAX + 1);
    reads.push({ tookMs: 40 });
    let hasLeft = false;
    const leaving = Promise.resolve(completion.mayComplete()).then((may) => {
      hasLeft = may;
    });
    await system.advance(20);
    const answered: (() => void)[] = [];
    while (unrecorded.hasRoom()) answered.push(unrecorded.complete());
    await system.advance(25); // the log has answered, and the other mail servers have not
    expect(hasLeft).toBe(false);
    for (const end of answered) end();
    await system.advance(200);
    await leaving;
    expect(hasLeft).toBe(true);
  });

  test('passes on the room that it has no use for any more', async () => {
    const { completion, abort, unrecorded } = open();
    const end = unrecorded.complete();
    while (unrecorded.hasRoom()) unrecorded.complete();
    const may = completion.mayComplete();
    let isNext = false;
    void unrecorded
      .room(() => true)
      .then(() => {
        isNext = true;
      });
    await turn();
    abort.abort();
    end();
    unrecorded.passOn();
    expect(await may).toBe(false);
    await turn();
    expect(isNext).toBe(true);
  });

  test('at a second server takes the place of the first', async () => {
    const { completion, unrecorded } = open();
    let places = 0;
    for (const end of placesIn(unrecorded)) {
      places += 1;
      end();
    }
    expect([await completion.mayComplete(), await completion.mayComplete()]).toEqual([true, true]);
    expect(placesIn(unrecorded)).toHaveLength(places - 1);
  });

  test('is not sent once the attempt is over, even if the log would confirm the claim', async () => {
    const opened = open();
    await opened.system.advance(TIMES.attemptMs);
    expect([await answer(opened), opened.asked()]).toEqual([false, 0]);
  });

  test('is not sent once the attempt is over by the wall clock alone: the machine was suspended', async () => {
    let aheadMs = 0;
    const opened = open({ wallAheadMs: () => aheadMs });
    aheadMs = TIMES.attemptMs;
    expect(await answer(opened)).toBe(false);
  });

  test('is preceded by a read of the log after a suspension that only the wall clock shows', async () => {
    let aheadMs = 0;
    const opened = open({ leasedTo: 2, wallAheadMs: () => aheadMs });
    aheadMs = CONFIRMED_MS_MAX + 1;
    expect([await answer(opened), opened.asked()]).toEqual([false, 1]);
  });

  test('is not sent when the attempt is abandoned', async () => {
    const opened = open();
    opened.abort.abort();
    expect(await answer(opened)).toBe(false);
  });

  test('waits for an unavailable log, and is sent when the log is back', async () => {
    const opened = open();
    await opened.system.advance(CONFIRMED_MS_MAX + 1);
    opened.reads.push({ tookMs: 0, fails: true }, { tookMs: 0, fails: true });
    expect([await answer(opened, 1_000), opened.asked()]).toEqual([true, 3]);
  });

  test('is not sent if the log is unavailable until the attempt is over', async () => {
    const opened = open();
    await opened.system.advance(CONFIRMED_MS_MAX + 1);
    opened.reads.push(...Array.from({ length: 2_000 }, () => ({ tookMs: 0, fails: true })));
    expect(await answer(opened, TIMES.attemptMs)).toBe(false);
  });

  test('needs a second answer if the first came so late that another worker may hold the message by now', async () => {
    const opened = open();
    await opened.system.advance(CONFIRMED_MS_MAX + 1);
    opened.reads.push({ tookMs: CONFIRMED_MS_MAX + 1 }, { tookMs: CONFIRMED_MS_MAX });
    expect([await answer(opened, 3 * CONFIRMED_MS_MAX), opened.asked()]).toEqual([true, 2]);
  });
});
