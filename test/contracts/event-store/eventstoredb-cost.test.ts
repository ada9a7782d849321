import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';
import { eventually, follow } from './following.ts';
import { events, first, idsOf, newStream } from './samples.ts';

describe('the load that the log puts on EventStoreDB', () => {
  let double: EventStoreDbDouble;
  let store: EventStore;
  beforeEach(async () => {
    double = await startEventStoreDbDouble('24.6.0');
    store = openEventStoreDb(double.url);
  });
  afterEach(async () => {
    await store.close();
    await double.close();
  });

  const append = (category: string, count: number) => store.append(first(newStream(category), events(count)));

  it('is one subscription for all followers: each event is sent once, and nothing is read again', async () => {
    const head = await store.head();
    const filters = [
      {},
      {},
      { categories: ['apiKey'] },
      { categories: ['apiKey', 'webhook'] },
      { categories: ['webhook'] },
    ];
    const followings = filters.map((filter) => follow(store, head, filter));
    await eventually(
      () => double.counts().subscribe.calls > 0,
      () => 'nobody subscribed',
    );
    await sleep(50);
    const before = double.counts();
    for (let count = 0; count < 40; count += 1) await append('apiKey', 10);
    await append('webhook', 1);
    for (const [index, following] of followings.entries()) await following.saw([401, 401, 400, 401, 1][index] ?? 0);
    const { subscribe, readAll } = double.counts();
    expect([subscribe.calls, subscribe.events]).toEqual([1, before.subscribe.events + 401]);
    expect(readAll.events - before.readAll.events).toBeLessThan(10);
    await Promise.all(followings.map((following) => following.stop()));
  });

  it('is one read of the head per second for followers whose filter matches no new events', async () => {
    const following = follow(store, await store.head(), { categories: ['webhook'] });
    await append('webhook', 1);
    await following.saw(1);
    for (let count = 0; count < 20; count += 1) await append('apiKey', 100);
    const head = await store.head();
    await eventually(
      () => (following.pages.at(-1)?.position ?? '') >= head,
      () => 'the follower stayed behind the head',
    );
    const before = double.counts();
    await sleep(2_500);
    const { readAll, subscribe } = double.counts();
    expect(readAll.calls - before.readAll.calls).toBeLessThanOrEqual(3);
    expect(readAll.events - before.readAll.events).toBeLessThanOrEqual(6);
    expect(subscribe).toEqual(before.subscribe);
    await following.stop();
  });

  it('includes no page reads for readers that re-read what a follower received', async () => {
    const start = await store.head();
    const following = follow(store, start);
    await append('apiKey', 300);
    await following.saw(300);
    const before = double.counts().readAll;
    const page = await store.readAll({
      from: following.pages[0]?.position ?? '',
      filter: { categories: ['apiKey'] },
      limit: 1_000,
    });
    expect(page.position).toBe(await store.head());
    expect(double.counts().readAll.events - before.events).toBeLessThanOrEqual(4);
    await following.stop();
  });

  it('includes a read of the head, so that readers see appends that followers have not seen yet', async () => {
    const following = follow(store, await store.head());
    const another = openEventStoreDb(double.url);
    const begin = first(newStream(), events(1));
    const { position: from } = await another.append(begin);
    await following.saw(1);
    for (let round = 0; round < 30; round += 1) {
      const one = first(newStream(), events(1));
      await another.append(one);
      const { events: seen } = await store.readAll({ from, limit: 100 });
      expect(idsOf(seen).at(-1)).toBe(one.events[0]?.id);
    }
    await another.close();
    await following.stop();
  });

  it('leaves a separate connection free for reads of the head while hundreds of streams are read', async () => {
    const { stream } = first(newStream(), events(1));
    await append('apiKey', 1);
    Object.assign(double.costs, { callMs: 5, readsAtOnce: 2 });
    let read = 0;
    const reads = Array.from({ length: 300 }, async () => {
      await store.readStream(stream);
      read += 1;
    });
    await store.head();
    expect(read).toBeLessThan(60);
    expect(double.openReads()).toBeLessThanOrEqual(20);
    await Promise.all(reads);
    expect(double.connections()).toBe(2);
  });

  it('is one call for all appends, which the server accepts in order', async () => {
    await append('apiKey', 1);
    double.costs.callMs = 10;
    const streams = Array.from({ length: 100 }, () => newStream());
    const appended = await Promise.all(streams.map((stream) => store.append(first(stream, events(1)))));
    const positions = appended.map(({ position }) => position);
    expect(positions).toEqual(positions.toSorted());
    expect(double.counts().append.calls).toBe(101);
  });

  it('lets urgent appends overtake others that wait', async () => {
    await append('apiKey', 1);
    double.costs.appendMs = 2;
    let ordinary = 0;
    const many = Array.from({ length: 600 }, async () => {
      await append('apiKey', 1);
      ordinary += 1;
    });
    await store.append({ ...first(newStream(), events(1)), isUrgent: true });
    expect(ordinary).toBeLessThan(300);
    await Promise.all(many);
  });
});
