import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppendOutcomeUnknown, type EventStore } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { follow } from './following.ts';
import { claimed, type EventStoreHarness, GIVE_UP_MS_MAX, type OpenLog, sentence } from './harness.ts';
import { events, first, idsOf, newStream, next, textsOf } from './samples.ts';
import { appendStubbornly } from './stubborn-writer.ts';

/** Writes 25 events to one stream, one after the other. Returns their ids. */
const writeStubbornly = async (store: EventStore): Promise<readonly string[]> => {
  const stream = newStream();
  const written: string[] = [];
  for (let round = 0; round < 25; round += 1) {
    const append = { ...first(stream, events(1)), expected: round === 0 ? ('no-stream' as const) : round - 1 };
    expect(await appendStubbornly(store, append)).toBe(round);
    written.push(...idsOf(append.events));
  }
  return written;
};

export const badDaysContract = (harness: EventStoreHarness): void => {
  describe('failures', () => {
    let log: OpenLog;
    beforeEach(async () => {
      log = await harness.open();
    });
    afterEach(() => log.close());

    sentence(
      harness,
      ['lost-answer'],
      'reports an unknown outcome if the answer to an append is lost, and a retry resolves it',
      async () => {
        const { store } = log;
        const stream = newStream();
        await store.append(first(stream, events(1)));
        const append = next(stream, 0, events(2));
        claimed(log.loseNextAnswer)();
        await expect(store.append(append)).rejects.toBeInstanceOf(AppendOutcomeUnknown);
        const { revision, position } = await store.append(append);
        expect(revision).toBe(2);
        const recorded = await store.readStream(stream);
        expect(idsOf(recorded).slice(1)).toEqual(idsOf(append.events));
        expect(recorded.at(-1)?.position).toBe(position);
      },
    );

    sentence(
      harness,
      ['lost-answer'],
      'gives several writers of one append with a lost answer the same answer, and none writes twice',
      async () => {
        const { store } = log;
        const head = await store.head();
        const appends = Array.from({ length: 20 }, () => first(newStream(), events(2)));
        claimed(log.loseNextAnswer)();
        expect(await Promise.all(appends.map((append) => appendStubbornly(store, append)))).toEqual(
          appends.map(() => 1),
        );
        expect((await store.readAll({ from: head, limit: 100 })).events).toHaveLength(40);
      },
    );

    sentence(
      harness,
      ['outage'],
      'refuses appends while the server is away, writes none of them, and recovers automatically',
      async () => {
        const { store } = log;
        const server = claimed(log.server);
        const stream = newStream();
        await store.append(first(stream, events(1, 'before')));
        await server.stop();
        const refused = store.append(next(stream, 0, events(1, 'during')));
        await expect(refused).rejects.toSatisfy(
          (error) => error instanceof StoreUnavailable || error instanceof AppendOutcomeUnknown,
        );
        await expect(store.readStream(stream)).rejects.toBeInstanceOf(StoreUnavailable);
        await expect(store.readAll({ limit: 1 })).rejects.toBeInstanceOf(StoreUnavailable);
        await server.start();
        await appendStubbornly(store, next(stream, 0, events(1, 'after')));
        expect(textsOf(await store.readStream(stream))).toEqual(['before0', 'after0']);
      },
    );

    sentence(
      harness,
      ['outage'],
      'resumes following after the server was away, without skipping or repeating events',
      async () => {
        const { store } = log;
        const server = claimed(log.server);
        const following = follow(store, await store.head());
        const ids: string[] = [];
        for (let outage = 0; outage < 3; outage += 1) {
          const some = first(newStream(), events(100));
          await appendStubbornly(store, some);
          ids.push(...idsOf(some.events));
          await server.stop();
          await sleep(100 * outage);
          await server.start();
        }
        const last = first(newStream(), events(3));
        await appendStubbornly(store, last);
        ids.push(...idsOf(last.events));
        await following.saw(ids.length);
        await following.stop();
        expect(idsOf(following.events())).toEqual(ids);
      },
    );

    sentence(harness, ['outage'], 'can be subscribed to, and left, while the server is away', async () => {
      const { store } = log;
      const server = claimed(log.server);
      const head = await store.head();
      await server.stop();
      const left = follow(store, head);
      const kept = follow(store, head);
      await sleep(200);
      await left.stop();
      await server.start();
      await appendStubbornly(store, first(newStream(), events(2)));
      await kept.saw(2);
      await kept.stop();
      expect(left.events()).toEqual([]);
    });

    sentence(harness, ['outage'], 'loses nothing when the server goes away under load', async () => {
      const { store } = log;
      const server = claimed(log.server);
      const head = await store.head();
      const following = follow(store, head);
      const writers = Promise.all(Array.from({ length: 8 }, () => writeStubbornly(store)));
      await sleep(30);
      await server.stop();
      await sleep(100);
      await server.start();
      const written = (await writers).flat();
      const seen = await following.saw(written.length);
      await following.stop();
      expect(idsOf(seen).toSorted()).toEqual(written.toSorted());
      expect((await store.readAll({ from: head, limit: 1000 })).events).toEqual(seen);
    });

    sentence(harness, ['freeze'], 'gives up on a server that does not answer, and goes on when it does', async () => {
      const { store } = log;
      const server = claimed(log.server);
      const stream = newStream();
      await store.append(first(stream, events(1)));
      const following = follow(store, await store.head());
      const append = next(stream, 0, events(1, 'frozen'));
      server.freeze();
      const before = performance.now();
      await expect(store.append(append)).rejects.toSatisfy(
        (error) => error instanceof AppendOutcomeUnknown || error instanceof StoreUnavailable,
      );
      await expect(store.readStream(stream)).rejects.toBeInstanceOf(StoreUnavailable);
      expect(performance.now() - before).toBeLessThan(GIVE_UP_MS_MAX);
      server.thaw();
      expect(await appendStubbornly(store, append)).toBe(1);
      expect(textsOf(await following.saw(1))).toEqual(['frozen0']);
      await following.stop();
    });

    it('closes with followers and appends in flight', async () => {
      const { store } = log;
      const following = follow(store, await store.head());
      const append = store.append(first(newStream(), events(1))).then(
        () => 'written',
        (error: unknown) => error,
      );
      await following.stop();
      await store.close();
      const outcome = await append;
      expect(outcome === 'written' || outcome instanceof StoreUnavailable).toBe(true);
      await expect(store.append(first(newStream(), events(1)))).rejects.toBeInstanceOf(StoreUnavailable);
    });
  });
};
