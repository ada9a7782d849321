import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { EventStore, Position } from '../../../src/domain/kernel/event-store.ts';
import { eventually, follow } from './following.ts';
import { claimed, type EventStoreHarness, sentence } from './harness.ts';
import { events, first, idsOf, largeEvent, newStream, next, textsOf } from './samples.ts';
import { sharedLog } from './shared-log.ts';

/** Time limit for an iteration to end after its signal. A query may be running. */
const ABORT_MS_MAX = 1000;

const leaveAfterOnePage = async (store: EventStore, after: Position): Promise<void> => {
  for await (const page of store.subscribe(after, {}, new AbortController().signal)) {
    if (page.events.length > 0) break;
  }
};

export const subscribingContract = (harness: EventStoreHarness): void => {
  describe('subscribing', () => {
    const log = sharedLog(harness);

    it('sees existing and new events, in order and once', async () => {
      const { store } = log();
      const head = await store.head();
      const stream = newStream();
      await store.append(first(stream, events(3, 'before')));
      const following = follow(store, head);
      await following.saw(3);
      await store.append(next(stream, 2, events(2, 'after')));
      await following.saw(5);
      await following.stop();
      expect(textsOf(following.events())).toEqual(['before0', 'before1', 'before2', 'after0', 'after1']);
      expect(following.events()).toEqual(await store.readStream(stream));
    });

    it('sees a new event soon', async () => {
      const { store } = log();
      const following = follow(store, await store.head());
      await sleep(300);
      const before = performance.now();
      await store.append(first(newStream(), events(1)));
      await following.saw(1);
      expect(performance.now() - before).toBeLessThan(1000);
      await following.stop();
    });

    it('resumes from the position of any event, and of any page', async () => {
      const { store } = log();
      const head = await store.head();
      await store.append(first(newStream(), events(4)));
      const whole = follow(store, head);
      const seen = await whole.saw(4);
      await whole.stop();
      for (const [index, { position }] of seen.entries()) {
        const rest = follow(store, position);
        await rest.saw(3 - index);
        await rest.stop();
        expect(rest.events()).toEqual(seen.slice(index + 1));
      }
      const none = follow(store, whole.pages.at(-1)?.position ?? head);
      await store.append(first(newStream(), events(1, 'new')));
      expect(textsOf(await none.saw(1))).toEqual(['new0']);
      await none.stop();
    });

    it('sees only the requested categories, and moves past the others', async () => {
      const { store } = log();
      const head = await store.head();
      const following = follow(store, head, { categories: ['webhook', 'domain'] });
      await store.append(first(newStream('webhook'), events(1, 'w')));
      await store.append(first(newStream('apiKey'), events(500, 'k')));
      await store.append(first(newStream('domain'), events(1, 'd')));
      await following.saw(2);
      const { position } = await store.append(first(newStream('domain'), events(1, 'last')));
      await following.saw(3);
      await following.stop();
      expect(textsOf(following.events())).toEqual(['w0', 'd0', 'last0']);
      expect(following.pages.at(-1)?.position).toBe(position);
    });

    it('never gets a page positioned before its last event, or before the previous page', async () => {
      const { store } = log();
      const head = await store.head();
      const following = follow(store, head, { categories: ['webhook'] });
      for (let round = 0; round < 10; round += 1) {
        await store.append(first(newStream('webhook'), events(3)));
        await store.append(first(newStream('apiKey'), events(3)));
      }
      await following.saw(30);
      await following.stop();
      let position = head;
      for (const page of following.pages) {
        expect(page.position >= (page.events.at(-1)?.position ?? position)).toBe(true);
        expect(page.events.every((event) => event.position > position)).toBe(true);
        expect(page.position >= position).toBe(true);
        position = page.position;
      }
    });

    it('sees an append of 500 events while it follows', async () => {
      const { store } = log();
      const following = follow(store, await store.head());
      const stream = newStream();
      const many = events(500);
      await store.append(first(stream, events(1)));
      await following.saw(1);
      await store.append(next(stream, 0, many));
      await following.saw(501);
      await following.stop();
      expect(idsOf(following.events()).slice(1)).toEqual(idsOf(many));
    });

    it('marks pages that are followed by more available events', async () => {
      const { store } = log();
      const head = await store.head();
      for (let round = 0; round < 9; round += 1) await store.append(first(newStream(), events(500)));
      await store.append(first(newStream(), events(100)));
      const following = follow(store, head);
      await following.saw(4600);
      await following.stop();
      expect(following.pages.some(({ isFull }) => isFull)).toBe(true);
      expect(following.pages.at(-1)?.isFull).toBe(false);
    });

    it('ends without an error when its signal aborts: while waiting, in a page, and before it starts', async () => {
      const { store } = log();
      const head = await store.head();
      const waiting = follow(store, head);
      await sleep(50);
      const before = performance.now();
      await waiting.stop();
      expect(performance.now() - before).toBeLessThan(ABORT_MS_MAX);

      await store.append(first(newStream(), events(10)));
      const abort = new AbortController();
      let pages = 0;
      for await (const _ of store.subscribe(head, {}, abort.signal)) {
        pages += 1;
        abort.abort();
      }
      expect(pages).toBe(1);
      for await (const _ of store.subscribe(head, {}, AbortSignal.abort())) expect.unreachable();
    });

    it('can be left with break repeatedly, and the store continues', async () => {
      const { store } = log();
      const head = await store.head();
      await store.append(first(newStream(), events(3)));
      for (let round = 0; round < 120; round += 1) {
        await leaveAfterOnePage(store, head);
      }
      expect((await store.readAll({ from: head, limit: 10 })).events).toHaveLength(3);
    });

    it('waits for a slow consumer, which misses nothing', async () => {
      const { store } = log();
      const slow = follow(store, await store.head(), {}, () => sleep(300));
      const streams = Array.from({ length: 12 }, () => newStream());
      for (const stream of streams) await store.append(first(stream, events(250)));
      const seen = await slow.saw(3000);
      await slow.stop();
      expect(seen.map(({ stream, revision }) => `${stream}@${revision}`)).toEqual(
        streams.flatMap((stream) => events(250).map((_, index) => `${stream}@${index}`)),
      );
    });

    sentence(harness, ['metered'], 'holds one page for a consumer that stands still', async () => {
      const { store, receivedBytes } = log();
      const bytes = claimed(receivedBytes);
      const head = await store.head();
      const fifteen = () => Array.from({ length: 15 }, () => largeEvent(60_000));
      for (let count = 0; count < 40; count += 1) await store.append(first(newStream(), fifteen()));
      const before = bytes();
      let go = (): void => {};
      const still = new Promise<void>((resolve) => {
        go = resolve;
      });
      const following = follow(store, head, {}, () => still);
      await eventually(
        () => following.pages.length > 0,
        () => 'no page came',
      );
      await sleep(500);
      expect(bytes() - before).toBeLessThan(20_000_000); // of 36 MB: one page and the socket buffers
      go();
      await following.saw(600);
      await following.stop();
    });
  });
};
