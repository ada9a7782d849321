import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { claimAttempt } from '../../../src/commands/message/attempt.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { MailTransport, OutgoingMail, SendOptions } from '../../../src/domain/ports/mail.ts';
import { createSemaphore } from '../../../src/lib/async/async.ts';
import { type Deliver, deliver } from '../../../src/workers/delivery/deliver.ts';
import type { DueMail } from '../../../src/workers/delivery/due.ts';
import { createUnrecordedOutcomes, type UnrecordedOutcomes } from '../../../src/workers/delivery/record.ts';
import { createSendingDomains } from '../../../src/workers/domains/sending-domains.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { TRACKING_KEYS } from '../../support/tracking-keys.ts';
import { createRecordingLogger } from '../recording-logger.ts';
import { openService } from '../service.ts';

/** With these times, a confirmation of a claim by the log is valid for 5 s. */
const TIMES = { attemptMs: 20_000, leaseMs: 40_000 };
const LONGER_THAN_CONFIRMED_MS = 6_000;

/** Enough turns of the event loop for anything that does not wait. */
const turns = async (): Promise<void> => {
  for (let count = 0; count < 100; count += 1) await turn();
};

interface Options {
  readonly to?: readonly string[];
  readonly environment?: 'live' | 'test';
  /** Sends a copy to each recipient domain. */
  readonly bounceDomain?: string;
  /** Called for each mail; throws a fault of this service. */
  onSend?(mail: OutgoingMail, options: SendOptions): Promise<void> | void;
  readonly outcome?: 'delivered' | 'deferred';
}

/** A message that is due, and what delivers it. Nothing advances the clock except sleeps and `shift`. */
const open = async ({ to = ['ann@example.org'], environment = 'live', bounceDomain, ...rest }: Options = {}) => {
  const { context, dependencies, send, history } = closedAfterTest(await openService());
  const messageId = await send(to, environment);
  const startMs = context.system.now().getTime();
  let ms = 0;
  const system = {
    ...context.system,
    now: () => new Date(startMs + ms),
    monotonicMs: () => ms,
    sleep: async (sleptMs: number) => {
      ms += sleptMs;
      await turn();
    },
  };
  let appendMs = 0;
  let reads = 0;
  const store: EventStore = {
    ...context.store,
    append: async (append) => {
      ms += appendMs;
      return context.store.append(append);
    },
    readStream: async (stream, options) => {
      if (stream === `message-${messageId}`) reads += 1;
      return context.store.readStream(stream, options);
    },
  };
  const mails: OutgoingMail[] = [];
  const deadlines: number[] = [];
  const transport: MailTransport = {
    send: async (mail, options) => {
      mails.push(mail);
      deadlines.push(options.deadlineMs);
      await rest.onSend?.(mail, options);
      const code = rest.outcome === 'deferred' ? 0 : 250;
      const reply = { code, enhanced: null, mx: null, tls: null, text: 'a reply' };
      return mail.envelope.to.map(({ recipientId }) => ({
        ...{ recipientId, ...reply, outcome: rest.outcome ?? 'delivered' },
      }));
    },
    close: async () => undefined,
  };
  const logger = createRecordingLogger();
  const counted: string[] = [];
  const notDue: { readonly due: DueMail; readonly since: string }[] = [];
  const memory = createSemaphore({ capacity: 1_000_000 });
  const unrecorded = createUnrecordedOutcomes(system);
  const abort = new AbortController();
  const parts: Deliver = {
    ...{ store, contents: dependencies.contents, secrets: dependencies.secrets, system, logger, unrecorded },
    ending: new AbortController().signal,
    ...{ times: TIMES, trackingKeys: TRACKING_KEYS, bounceDomain },
    publicUrl: () => 'https://mail.example.test',
    sendingDomains: createSendingDomains({ secrets: dependencies.secrets }),
    transports: { live: transport, test: transport },
    acceptedCache: { take: () => undefined },
    recentlyQueued: { addNotDue: (due, since) => void notDue.push({ due, since }) },
    metrics: {
      count: (outcome) => void counted.push(outcome),
      countSource: () => undefined,
      took: () => void counted.push('took'),
    },
    bytesInFlight: () => memory,
    isKeptBack: () => false,
  };
  return {
    ...{ system, mails, deadlines, logger, counted, notDue, memory, unrecorded, abort, messageId, parts },
    shift: (shiftMs: number) => {
      ms += shiftMs;
    },
    appendsTake: (tookMs: number) => {
      appendMs = tookMs;
    },
    reads: () => reads,
    deliver: (more: Partial<Deliver> = {}, due: Partial<DueMail> = {}) =>
      deliver({ ...parts, ...more }, { messageId, destination: null, ...due }, abort.signal),
    history: () => history(messageId),
    /** Another process claims the message after the lease has ended. */
    takeOver: async () => {
      ms += TIMES.leaseMs;
      await claimAttempt({ store: context.store, system }, { messageId, leaseMs: 60_000, random: 0.5 });
    },
  };
};

/** Number of messages that may still be completed. */
const placesOf = (unrecorded: UnrecordedOutcomes): number => {
  const ends: (() => void)[] = [];
  while (unrecorded.hasRoom()) ends.push(unrecorded.complete());
  for (const end of ends) end();
  return ends.length;
};

const TWO_COPIES = { to: ['ann@one.test', 'bob@two.test'], bounceDomain: 'bounces.test' } as const;
const UNCLAIMED = ['MessageAccepted'];

describe('a message that must wait', () => {
  test('is not claimed if it may have left before a restore, and is not looked at again soon', async () => {
    const { deliver, history, notDue, system, messageId, mails } = await open();
    expect(await deliver({ isHeldAfterRestore: () => true })).toBeNull();
    expect([await history(), mails]).toEqual([UNCLAIMED, []]);
    expect(notDue).toEqual([{ due: { messageId, destination: null }, since: system.now().toISOString() }]);
  });

  test('is not claimed if its destination is suspended for its sender, unless it has expired', async () => {
    const { deliver, history, notDue, shift, messageId, mails } = await open();
    const suspended = { isKeptBack: () => true };
    expect(await deliver(suspended)).toBeNull();
    expect([await history(), notDue.map(({ due }) => due.messageId)]).toEqual([UNCLAIMED, [messageId]]);
    shift(365 * 86_400_000);
    expect(await deliver(suspended, { isExpired: true })).toBeNull();
    expect([await history(), mails]).toEqual([['MessageAccepted', 'RecipientExpired'], []]);
    expect(notDue).toHaveLength(1);
  });

  test('is not held back by these otherwise', async () => {
    const { deliver, mails, notDue } = await open();
    expect(await deliver({ isHeldAfterRestore: () => false })).not.toBeNull();
    expect([mails.length, notDue]).toEqual([1, []]);
  });
});

test('a message that the log does not have is no work', async () => {
  const { deliver, mails, logger } = await open();
  expect(await deliver({}, { messageId: 'msg_none' })).toBeNull();
  expect([mails, logger.said('error')]).toEqual([[], []]);
});

describe('a stop', () => {
  test('claims nothing that waits until others are recorded, however much memory is in use', async () => {
    const { deliver, history, unrecorded, memory, abort } = await open();
    const recorded = Promise.withResolvers<void>();
    while (unrecorded.hasRoom()) void unrecorded.during(() => recorded.promise);
    void memory.run(() => recorded.promise, 1_000_000);
    const ended = deliver();
    await turns();
    expect(await history()).toEqual(UNCLAIMED);
    abort.abort();
    expect(await ended).toBeNull();
    expect(await history()).toEqual(UNCLAIMED);
    recorded.resolve();
  });

  test('claims nothing that waits for memory', async () => {
    const { deliver, history, memory, abort, mails } = await open();
    const used = Promise.withResolvers<void>();
    void memory.run(() => used.promise, 1_000_000);
    const ended = deliver();
    await turns();
    expect(await history()).toEqual(UNCLAIMED);
    abort.abort();
    used.resolve();
    expect(await ended).toBeNull();
    expect([await history(), mails]).toEqual([UNCLAIMED, []]);
  });

  test('is the reason that an attempt gives which it cut off', async () => {
    const { deliver, abort } = await open({ outcome: 'deferred', onSend: () => abort.abort() });
    const attempted = await deliver();
    expect(attempted?.outcomes).toMatchObject([{ reason: 'the service was stopping', retryAfterSeconds: 0 }]);
    const undisturbed = await open({ outcome: 'deferred' });
    expect((await undisturbed.deliver())?.outcomes).toMatchObject([{ reason: 'no answer from the mail server' }]);
  });
});

describe('an attempt that used up its time', () => {
  const deferredBy = async (wasAway: boolean, tookMs: number) => {
    const { deliver, shift } = await open({ outcome: 'deferred', onSend: () => shift(tookMs) });
    const logWatch = { isSettled: () => true, wasAwaySince: () => wasAway, noteAway: () => undefined };
    const attempted = await deliver({ logWatch });
    return attempted?.outcomes[0];
  };

  test('while the log was away is repeated at once, and says nothing about the mail server', async () => {
    const outcome = await deferredBy(true, TIMES.attemptMs - 1);
    expect(outcome).toMatchObject({ reason: 'the event log was not available', retryAfterSeconds: 0 });
    expect(outcome).not.toHaveProperty('category');
  });

  test.each([
    ['although the log answered', false, TIMES.attemptMs],
    ['in part, while the log was away', true, TIMES.attemptMs - 1_000],
  ])('%s waits for the mail server', async (_, wasAway, tookMs) => {
    const outcome = await deferredBy(wasAway, tookMs);
    expect(outcome).toMatchObject({ reason: 'no answer from the mail server', category: 'network' });
    expect(outcome).not.toHaveProperty('retryAfterSeconds');
  });
});

describe('a claim', () => {
  test('is not delayed by contents that cannot be read, if it fails', async () => {
    const { deliver, parts, takeOver, mails, logger, history } = await open();
    await takeOver();
    const contents = { ...parts.contents, get: () => Promise.reject(new Error('the vault is away')) };
    expect(await deliver({ contents })).toBeNull();
    await turns(); // a fault that nobody handles would end the process
    expect([mails, logger.said('error')]).toEqual([[], []]);
    expect(await history()).toEqual(['MessageAccepted', 'AttemptStarted']);
  });

  test('is for the recipients of the destination alone', async () => {
    const { deliver, mails } = await open({ to: ['ann@one.test', 'bob@two.test'] });
    const attempted = await deliver({}, { destination: 'two.test' });
    expect(mails.map(({ envelope }) => envelope.to.map(({ address }) => address))).toEqual([['bob@two.test']]);
    expect(attempted?.claim.recipientIds).toHaveLength(1);
  });

  test('begins the time of the attempt, however long it takes to append it', async () => {
    const { deliver, deadlines, appendsTake, memory, shift, system } = await open();
    const used = Promise.withResolvers<void>();
    void memory.run(() => used.promise, 1_000_000);
    const ended = deliver();
    await turns();
    shift(60_000); // waiting for memory takes none of it
    const beganMs = system.monotonicMs();
    appendsTake(3_000);
    used.resolve();
    await ended;
    expect(deadlines).toEqual([beganMs + TIMES.attemptMs]);
  });

  test('that took long to append is confirmed by the log before the final dot', async () => {
    let may: boolean | undefined;
    const onSend: Options['onSend'] = async (_, { mayComplete }) => {
      may = await mayComplete?.();
    };
    const quick = await open({ onSend });
    await quick.deliver();
    expect([may, quick.reads()]).toEqual([true, 1]); // the load
    const slow = await open({ onSend });
    slow.appendsTake(LONGER_THAN_CONFIRMED_MS);
    await slow.deliver();
    expect([may, slow.reads()]).toEqual([true, 2]);
  });
});

describe('an attempt with several copies', () => {
  test('sends no further one when the claim is lost, and keeps what the destination answered to the earlier ones', async () => {
    const taken = { over: async () => undefined as unknown };
    const { deliver, mails, takeOver, history, shift } = await open({
      ...TWO_COPIES,
      onSend: async () => {
        shift(100);
        await taken.over();
      },
    });
    taken.over = takeOver;
    const attempted = await deliver();
    expect(mails).toHaveLength(1);
    expect(attempted?.outcomes).toMatchObject([{ outcome: 'delivered' }]);
    expect(attempted?.reported).toEqual({ outcomes: [], replies: [] });
    expect(attempted?.tookMs).toBeGreaterThanOrEqual(100);
    expect(await history()).toEqual(['MessageAccepted', 'AttemptStarted', 'AttemptOutcomeUnknown']);
  });

  test.each([
    [700, 300],
    [300, 700],
  ])('that take %i and %i ms reports all outcomes, and took as long as the slowest', async (...times) => {
    const waits = [...times];
    const { deliver, shift, history } = await open({ ...TWO_COPIES, onSend: () => shift(waits.shift() ?? 0) });
    const attempted = await deliver();
    expect(attempted?.outcomes).toMatchObject([{ outcome: 'delivered' }, { outcome: 'delivered' }]);
    expect(attempted?.tookMs).toBe(700);
    expect(attempted?.reported.outcomes).toHaveLength(1);
    expect(await history()).toEqual(['MessageAccepted', 'AttemptStarted', 'RecipientDelivered']);
  });

  test('asks the log again before a copy whose predecessor took long to record', async () => {
    const readsAtSend: number[] = [];
    const reading = { reads: () => 0 };
    const { deliver, appendsTake, reads } = await open({
      ...TWO_COPIES,
      onSend: async (_, { mayComplete }) => {
        appendsTake(LONGER_THAN_CONFIRMED_MS); // from the record of the first copy on
        await mayComplete?.();
        readsAtSend.push(reading.reads());
      },
    });
    reading.reads = reads;
    await deliver();
    expect(readsAtSend).toEqual([1, 2]);
  });

  test('of which one cannot be made defers its recipients alone', async () => {
    let sent = 0;
    const { deliver, logger } = await open({
      ...TWO_COPIES,
      onSend: () => {
        sent += 1;
        if (sent === 2) throw new Error('it cannot be built');
      },
    });
    const attempted = await deliver();
    expect(attempted?.outcomes).toMatchObject([
      { outcome: 'delivered' },
      { outcome: 'deferred', reason: 'a fault of the sending service' },
    ]);
    expect(logger.said('error')).toEqual(['could not send a message: it will be retried']);
  });
});

test('a completed message is in flight until its mail server has answered', async () => {
  const before = { places: 0 };
  const counting = { places: () => 0 };
  const { deliver, unrecorded } = await open({
    onSend: async (_, { mayComplete }) => {
      await mayComplete?.();
      before.places = counting.places();
    },
  });
  counting.places = () => placesOf(unrecorded);
  const all = placesOf(unrecorded);
  await deliver();
  expect([before.places, placesOf(unrecorded)]).toEqual([all - 1, all]);
});

test('outcomes of live mail are counted, and those of simulated mail are not', async () => {
  const live = await open();
  await live.deliver();
  expect(live.counted.toSorted()).toEqual(['delivered', 'took']);
  const simulated = await open({ environment: 'test' });
  await simulated.deliver();
  expect([simulated.mails.length, simulated.counted]).toEqual([1, []]);
});
