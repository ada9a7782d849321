import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EventStore, LOG_START } from '../../../src/domain/kernel/event-store.ts';
import type { Logger } from '../../../src/lib/async/async.ts';
import type { ServerStyle } from '../../support/eventstoredb-double/bad-days.ts';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import { silentLogger } from '../../support/logger.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';
import { eventually, type Following, follow } from './following.ts';
import { events, first, idsOf, newStream, next, textsOf } from './samples.ts';

const STYLES: readonly ServerStyle[] = ['23.10.8', '24.6.0', '24.10.5'];

describe.each(STYLES)('a follower of EventStoreDB %s', (style) => {
  let double: EventStoreDbDouble;
  let store: EventStore;
  let warnings: string[];
  beforeEach(async () => {
    warnings = [];
    const logger: Logger = { ...silentLogger, warn: (_, sentence) => warnings.push(sentence) };
    double = await startEventStoreDbDouble(style);
    store = openEventStoreDb(double.url, { logger });
  });
  afterEach(async () => {
    await store.close();
    await double.close();
  });

  /** Asserts that no page skipped an event that came in a later page. */
  const expectNothingPassedOver = ({ pages }: Following): void => {
    for (const [index, { position }] of pages.entries()) {
      const later = pages.slice(index + 1).flatMap((page) => page.events);
      expect(later.every((event) => event.position > position)).toBe(true);
    }
  };

  it('misses nothing, whether or not it is dropped as too slow', async () => {
    const following = follow(store, await store.head());
    const one = first(newStream(), events(1));
    await store.append(one);
    await following.saw(1);
    const many = next(one.stream, 0, events(400));
    await store.append(many);
    await following.saw(401);
    await following.stop();
    expect(idsOf(following.events())).toEqual(idsOf([...one.events, ...many.events]));
    expect(warnings).toHaveLength(style === '23.10.8' ? 1 : 0);
  });

  it.each([status.UNKNOWN, status.INTERNAL, status.ABORTED, status.UNAVAILABLE, status.CANCELLED])(
    'resumes when its calls are dropped with status %i',
    async (code) => {
      const head = await store.head();
      const details = code === status.UNKNOWN ? 'Server Is Not Ready' : 'dropped';
      double.badDays.droppedReads.push({ code, details }, { code, details }, { code, details });
      const following = follow(store, head);
      const some = first(newStream(), events(3));
      await store.append(some);
      expect(idsOf(await following.saw(3))).toEqual(idsOf(some.events));
      double.cut();
      double.badDays.droppedReads.push({ code, details });
      const more = first(newStream(), events(2));
      await eventually(
        () => warnings.length >= 2,
        () => 'the break was not noticed',
      );
      await store.append(more);
      expect(idsOf(await following.saw(5))).toEqual(idsOf([...some.events, ...more.events]));
      await following.stop();
    },
  );

  it.each(['on-time', 'late', 'never'] as const)(
    'soon reaches the head when the last events are not for it, with checkpoints %s',
    async (checkpoints) => {
      double.badDays.checkpoints = checkpoints;
      const following = follow(store, await store.head(), { categories: ['webhook'] });
      await store.append(first(newStream('webhook'), events(1, 'w')));
      for (let count = 0; count < 5; count += 1) await store.append(first(newStream('apiKey'), events(70)));
      const head = await store.head();
      await eventually(
        () => (following.pages.at(-1)?.position ?? LOG_START) >= head,
        () => 'the follower stayed behind the head',
      );
      await following.stop();
      expect(textsOf(following.events())).toEqual(['w0']);
      expectNothingPassedOver(following);
    },
  );

  it('searches on from the checkpoints of a long log, and finds the last event', async () => {
    for (let count = 0; count < 8; count += 1) await store.append(first(newStream('apiKey'), events(500)));
    const { position } = await store.append(first(newStream('webhook'), events(1, 'rare')));
    const following = follow(store, LOG_START, { categories: ['webhook'] });
    expect(textsOf(await following.saw(1))).toEqual(['rare0']);
    await following.stop();
    expect(following.pages.at(-1)?.position).toBe(position);
  });

  it('refuses to resume from a position that the log no longer reaches', async () => {
    const kept = await store.append(first(newStream(), events(2)));
    const count = double.log.records.length;
    const lost = await store.append(first(newStream(), events(2)));
    double.log.restoreTo(count);
    await expect(follow(store, lost.position).ended).rejects.toThrow('the log ends before the position');
    await expect(store.readAll({ from: lost.position, limit: 1 })).rejects.toThrow('the log ends before the position');
    expect(await store.readAll({ from: kept.position, limit: 1 })).toEqual({ events: [], position: kept.position });
  });

  it('notices when the log is rolled back while it follows', async () => {
    await store.append(first(newStream(), events(2)));
    const count = double.log.records.length;
    const following = follow(store, LOG_START);
    await store.append(first(newStream(), events(2)));
    await following.saw(4);
    const ended = expect(following.ended).rejects.toThrow('the log ends before the position');
    await double.stop();
    double.log.restoreTo(count);
    await double.start();
    await ended;
  });
});

describe('a follower of a server whose checkpoints run ahead of its events', () => {
  it('ignores those checkpoints', async () => {
    const double = await startEventStoreDbDouble('24.6.0');
    const store = openEventStoreDb(double.url);
    double.badDays.checkpoints = 'ahead';
    const following = follow(store, await store.head(), { categories: ['webhook'] });
    const appends = Array.from({ length: 5 }, () => first(newStream('webhook'), events(1)));
    for (const append of appends) await store.append(append);
    await following.saw(5);
    await following.stop();
    expect(idsOf(following.events())).toEqual(appends.flatMap((append) => idsOf(append.events)));
    await store.close();
    await double.close();
  });
});
