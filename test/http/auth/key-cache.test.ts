import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { createKeyCache } from '../../../src/http/auth/key-cache.ts';
import { appendKey, newStore } from '../../projections/support/keys-log.ts';
import { keyCreated, keyRevoked, keyRotated, secretNumber } from '../../support/controls/api-key.ts';
import { contextAt, NOW } from '../../support/specification.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { createRecordingLogger } from '../../workers/recording-logger.ts';

/** The cache is trusted this long after the start of a read. */
const TRUSTED_MS = 900;
/** Interval of the regular reads. */
const EVERY_MS = 250;
const LATER = '2026-11-21T13:00:00.000Z';

/** Enough turns of the event loop for anything that does not wait. */
const turns = async (): Promise<void> => {
  for (let count = 0; count < 20; count += 1) await turn();
};

/** A key cache of a log whose reads can be delayed, with a clock that only `system.advance` moves. */
const open = async () => {
  const system = createSteppableSystem();
  const store = newStore();
  const logger = createRecordingLogger();
  let heads = 0;
  let isFailing = false;
  /** The next reads of the head wait for this. */
  let gate: Promise<unknown> = Promise.resolve();
  /** The next page waits for this. */
  let pageGate: Promise<unknown> = Promise.resolve();
  const log: Pick<EventStore, 'head' | 'readAll'> = {
    head: async () => {
      heads += 1;
      if (isFailing) throw new Error('the log is away');
      const head = await store.head();
      await gate;
      return head;
    },
    readAll: async ({ signal: _, ...options }) => {
      const page = await store.readAll(options);
      const wait = pageGate;
      pageGate = Promise.resolve();
      await wait;
      return page;
    },
  };
  const cache = createKeyCache({ store: log, system, logger, capturing: true });
  onTestFinished(async () => {
    gate = Promise.resolve();
    const closed = cache.close();
    await system.advance(EVERY_MS);
    await closed;
  });
  return {
    ...{ system, store, cache, logger },
    heads: () => heads,
    fail: (fails: boolean) => {
      isFailing = fails;
    },
    /** Delays the reads that begin from now on. @returns lets them go on. */
    delay: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = Promise.resolve();
        resolve();
      };
    },
    /** Delays the next page. @returns lets it go on. */
    delayPage: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      pageGate = promise;
      return resolve;
    },
    knows: (number: number) => cache.find(secretNumber(number).hash) !== undefined,
    append: (keyId: string, number: number) =>
      appendKey(store, keyId, keyCreated({ keyId, secret: secretNumber(number) }), NOW),
    appendTo: async (event: Parameters<typeof appendKey>[2] & object) =>
      store.append({
        ...{ stream: 'apiKey-key_1', expected: (await store.readStream('apiKey-key_1')).length - 1 },
        context: contextAt(NOW),
        events: [{ ...event, id: crypto.randomUUID() }],
      }),
  };
};

describe('a key cache', () => {
  test('is trusted for 900 ms since the start of a read that was applied', async () => {
    const { cache, system, delay } = await open();
    expect(cache.isFresh()).toBe(false);
    const proceed = delay();
    const caught = cache.catchUp();
    await system.advance(100);
    expect(cache.isFresh()).toBe(false);
    proceed();
    expect(await caught).toBe(true);
    await system.advance(TRUSTED_MS - 101);
    expect(cache.isFresh()).toBe(true);
    await system.advance(1);
    expect(cache.isFresh()).toBe(false);
  });

  test('holds what the log held when it was asked, also while a read is under way', async () => {
    const { cache, append, delay, knows } = await open();
    const proceed = delay();
    const first = cache.catchUp();
    await turns();
    await append('key_1', 1); // behind the head of the first read
    const second = cache.catchUp();
    const third = cache.catchUp();
    proceed();
    expect(await first).toBe(true);
    expect(await Promise.all([second, third])).toEqual([true, true]);
    expect(knows(1)).toBe(true);
  });

  test('reads once for all that ask while a read is under way', async () => {
    const { cache, delay, heads } = await open();
    const proceed = delay();
    const asked = Array.from({ length: 10 }, () => cache.catchUp());
    await turns();
    expect(heads()).toBe(1);
    proceed();
    expect(new Set(await Promise.all(asked))).toEqual(new Set([true]));
    expect(heads()).toBe(2);
  });

  test('is read regularly, and tells how many events it has applied and whose they were', async () => {
    const { cache, append, system, knows, heads } = await open();
    const changed: string[] = [];
    cache.onChange((organizationId) => void changed.push(organizationId));
    await cache.start();
    const before = cache.changes();
    await append('key_1', 1);
    await append('key_2', 2);
    const next = cache.nextRead();
    await system.advance(EVERY_MS);
    expect(await next).toBe(true);
    expect([knows(1), knows(2), cache.changes() - before, changed]).toEqual([true, true, 2, ['org_mine']]);
    const reads = heads();
    await system.advance(4 * EVERY_MS);
    expect(heads() - reads).toBe(4);
    expect([cache.changes() - before, changed.length]).toEqual([2, 1]);
  });

  test('begins no regular read while one is under way, and none at once after it', async () => {
    const { cache, system, delay, heads } = await open();
    await cache.start();
    const proceed = delay();
    const reads = heads();
    await system.advance(5 * EVERY_MS);
    expect(heads() - reads).toBe(1);
    proceed();
    await turns();
    expect(heads() - reads).toBe(1);
    await system.advance(EVERY_MS);
    expect(heads() - reads).toBeGreaterThan(1);
  });

  test('answers callers whose read takes too long, and recovers', async () => {
    const { cache, system, delay, append, knows } = await open();
    await cache.start();
    const proceed = delay();
    const caught = cache.catchUp();
    const loaded = cache.load();
    loaded.catch(() => undefined); // expected below
    await system.advance(700);
    expect(await caught).toBe(false);
    await expect(loaded).rejects.toMatchObject({ code: 'unavailable' });
    await system.advance(10_000);
    expect(cache.isFresh()).toBe(false);
    await append('key_1', 1);
    proceed();
    await system.advance(5_000);
    expect([cache.isFresh(), knows(1)]).toEqual([true, true]);
    expect(await cache.load()).toBeDefined();
  });

  test('reads again for each caller once a read has ended', async () => {
    const { cache, append, delay, knows } = await open();
    for (const number of [1, 2, 3]) {
      const proceed = delay();
      const reading = cache.catchUp();
      await turns();
      await append(`key_${number}`, number);
      const next = cache.catchUp();
      proceed();
      await Promise.all([reading, next]);
      expect(knows(number)).toBe(true);
    }
  });

  test('applies nothing of a read that it has given up', async () => {
    const { cache, system, append, delayPage, knows } = await open();
    await cache.start();
    const before = cache.changes();
    await append('key_1', 1);
    const proceed = delayPage();
    await system.advance(EVERY_MS);
    expect(knows(1)).toBe(false);
    await system.advance(5_000);
    expect([knows(1), cache.changes() - before]).toEqual([true, 1]);
    proceed();
    await turns();
    expect(cache.changes() - before).toBe(1);
  });

  test('says once that the log cannot be read, and once that it can', async () => {
    const { cache, system, fail, logger } = await open();
    await cache.start();
    fail(true);
    expect(await cache.catchUp()).toBe(false);
    await system.advance(4 * EVERY_MS);
    expect(cache.isFresh()).toBe(false);
    fail(false);
    await system.advance(4 * EVERY_MS);
    expect(cache.isFresh()).toBe(true);
    expect(logger.said('error')).toEqual(['cannot read the log: rejecting requests with 503']);
    expect(logger.said('info')).toEqual(['the log can be read again: accepting requests']);
  });
});

describe('the secrets of a key', () => {
  test('end with their grace period, with the key, or with its expiry, whichever is first', async () => {
    const { cache, append, appendTo } = await open();
    await append('key_1', 1);
    await appendTo(keyRotated(2, LATER));
    await cache.catchUp();
    const endsAt = (number: number) => cache.find(secretNumber(number).hash)?.endsAt;
    expect([endsAt(1), endsAt(2)]).toEqual([LATER, null]);
    const [earlier, later] = ['2026-11-21T12:30:00.000Z', '2026-11-21T14:00:00.000Z'];
    await appendTo({ type: 'KeyUpdated', data: { keyId: 'key_1', expiresAt: later } });
    await cache.catchUp();
    expect([endsAt(1), endsAt(2)]).toEqual([LATER, later]);
    await appendTo({ type: 'KeyUpdated', data: { keyId: 'key_1', expiresAt: earlier } });
    await cache.catchUp();
    expect([endsAt(1), endsAt(2)]).toEqual([earlier, earlier]);
    await appendTo(keyRevoked);
    await cache.catchUp();
    expect([1, 2].map((number) => cache.find(secretNumber(number).hash))).toEqual([undefined, undefined]);
  });

  test('are numbered, and the previous one ends with a rotation that revokes it', async () => {
    const { cache, append, appendTo } = await open();
    await append('key_1', 1);
    await appendTo(keyRotated(2, NOW, true));
    await cache.catchUp();
    expect(cache.find(secretNumber(1).hash)).toMatchObject({ endsAt: NOW, holder: { kind: 'key', number: 1 } });
    expect(cache.find(secretNumber(2).hash)).toMatchObject({ carrier: 'bearer', holder: { kind: 'key', number: 2 } });
  });
});
