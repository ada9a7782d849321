import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  AppendOutcomeUnknown,
  type EventStore,
  LOG_START,
  WrongExpectedRevision,
} from '../../../src/domain/kernel/event-store.ts';
import type { Contents, MessageContents } from '../../../src/domain/ports/contents.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import type { ProposedEvent } from '../../support/eventstoredb-double/stored-log.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';
import { follow } from './following.ts';
import { PATIENCE_MS } from './harness.ts';
import { events, first, idsOf, keyRevoked, largeEvent, newStream, next, textsOf } from './samples.ts';

let double: EventStoreDbDouble;
let store: EventStore;
beforeEach(async () => {
  double = await startEventStoreDbDouble();
  store = openEventStoreDb(double.url);
});
afterEach(async () => {
  await store.close();
  await double.close();
});

describe('appending to EventStoreDB', () => {
  it.each([
    [status.CANCELLED, 'dropped', AppendOutcomeUnknown],
    [status.DEADLINE_EXCEEDED, 'dropped', AppendOutcomeUnknown],
    [status.ABORTED, 'Operation timed out: commit', AppendOutcomeUnknown],
    [status.INTERNAL, 'Received RST_STREAM', AppendOutcomeUnknown],
    [status.UNAVAILABLE, 'Connection dropped', AppendOutcomeUnknown],
    [status.UNAVAILABLE, 'Server Is Not Ready', StoreUnavailable],
    [status.UNKNOWN, 'No leader info available in response', StoreUnavailable],
  ])('can be retried after status %i "%s"', async (code, details, fault) => {
    const append = first(newStream(), events(1));
    double.badDays.droppedAppends.push({ code, details });
    await expect(store.append(append)).rejects.toBeInstanceOf(fault);
    expect(await store.append(append)).toMatchObject({ revision: 0 });
  });

  it('has an unknown outcome when the answer never comes, and a retry gets that answer', async () => {
    const append = first(newStream(), events(2));
    double.badDays.unansweredAppends = 1;
    await expect(store.append(append)).rejects.toBeInstanceOf(AppendOutcomeUnknown);
    expect(await store.append(append)).toMatchObject({ revision: 1 });
    expect(idsOf(await store.readStream(append.stream))).toEqual(idsOf(append.events));
  });

  it('does not wait for other appends that have no answer', async () => {
    double.badDays.unansweredAppends = 10;
    const lost = Promise.allSettled(Array.from({ length: 10 }, () => store.append(first(newStream(), events(1)))));
    await expect.poll(() => double.badDays.unansweredAppends).toBe(0);
    expect(await store.append(first(newStream(), events(1)))).toMatchObject({ revision: 0 });
    expect((await lost).map(({ status: outcome }) => outcome)).toEqual(Array(10).fill('rejected'));
  });

  it('times out for all callers when more wait than may call at once', async () => {
    double.freeze();
    const waiting = Array.from({ length: 300 }, () => store.append(first(newStream(), events(1))));
    const outcomes = await Promise.allSettled(waiting);
    const faults = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason);
    expect(faults.filter((fault) => fault instanceof StoreUnavailable).length).toBeGreaterThan(0);
    expect(faults.every((fault) => fault instanceof StoreUnavailable || fault instanceof AppendOutcomeUnknown)).toBe(
      true,
    );
    double.thaw();
    await expect.poll(() => store.head()).toBeDefined();
  });

  it('succeeds for the same ids with other data, and keeps the first data', async () => {
    const append = first(newStream(), [keyRevoked('first')]);
    const answer = await store.append(append);
    const [event] = append.events;
    const other = { ...append, events: [{ ...keyRevoked('second'), id: event?.id ?? '' }] };
    expect(await store.append(other)).toEqual(answer);
    expect(textsOf(await store.readStream(append.stream))).toEqual(['first']);
  });

  it('is a conflict, not a repeat, when the id is elsewhere in the stream', async () => {
    const append = first(newStream(), events(2));
    await store.append(append);
    await expect(store.append(next(append.stream, 0, append.events.slice(0, 1)))).rejects.toBeInstanceOf(
      WrongExpectedRevision,
    );
  });

  it('is rejected with a reason when it is empty or larger than the server allows', async () => {
    const large = first(
      newStream('webhook'),
      Array.from({ length: 20 }, () => largeEvent(60_000)),
    );
    await expect(store.append(large)).rejects.toThrow('larger than the server allows (1048576 bytes)');
    expect(await store.readStream(large.stream)).toEqual([]);
    await expect(store.append(first(newStream(), []))).rejects.toThrow('an append of no events');
  });

  it('stores contents before the events, and no events if that fails', async () => {
    const steps: string[] = [];
    const contents: Contents = {
      put: async ([one]) => {
        steps.push(`put with ${double.log.records.length} records`);
        if (one?.id === 'bad') throw new Error('the vault is away');
      },
      get: async () => new Map(),
      heads: async () => new Map(),
    };
    const storing = openEventStoreDb(double.url, { contents });
    const body: MessageContents['body'] = { kind: 'reply', messageId: 'msg_1', text: '250 ok' };
    const before = double.log.records.length;
    const good = { ...first(newStream(), events(1)), contents: [{ id: 'good', organizationId: 'org_1', body }] };
    const bad = { ...first(newStream(), events(1)), contents: [{ id: 'bad', organizationId: 'org_1', body }] };
    await storing.append(good);
    await expect(storing.append(bad)).rejects.toThrow('the vault is away');
    expect(steps).toEqual([`put with ${before} records`, `put with ${before + 1} records`]);
    expect(await storing.readStream(bad.stream)).toEqual([]);
    await storing.close();
  });
});

describe('a cluster whose nodes do not know the leader', () => {
  it('fails an append in time: nothing was written', async () => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const lost = openEventStoreDb(`esdb://127.0.0.1:${port},localhost:${port}?tls=false`);
    const beganMs = performance.now();
    await expect(lost.append(first(newStream(), events(1)))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(performance.now() - beganMs).toBeLessThan(2 * PATIENCE_MS);
    silent.close();
    void lost.close();
  });
});

describe('a shared server', () => {
  const event = (type: string, metadata: object): ProposedEvent => ({
    id: crypto.randomUUID(),
    type,
    contentType: 'application/json',
    data: Buffer.from('{"cpu":1}'),
    metadata: Buffer.from(JSON.stringify(metadata)),
  });
  const others = (): void => {
    for (const stream of ['$stats-127.0.0.1:2113', 'order-1']) {
      double.log.append({ stream, expected: 'any', events: Array.from({ length: 40 }, () => event('Thing', {})) });
    }
  };

  it('hides its own events, those of others, and the stream of the log id from readers', async () => {
    others();
    expect(await store.head()).toBe(LOG_START);
    const some = first(newStream(), events(2));
    const { position } = await store.append(some);
    await store.logId();
    others();
    expect(await store.head()).toBe(position);
    const page = await store.readAll({ limit: 100 });
    expect([idsOf(page.events), page.position]).toEqual([idsOf(some.events), position]);
    const backwards = await store.readAll({ direction: 'backwards', limit: 100 });
    expect(idsOf(backwards.events)).toEqual(idsOf(some.events).toReversed());
    const following = follow(store, LOG_START);
    await following.saw(2);
    await store.append(next(some.stream, 1, events(1, 'last')));
    await following.saw(3);
    await following.stop();
    expect(textsOf(following.events())).toEqual(['e0', 'e1', 'last0']);
  });

  it('has one log id for all clients that first ask at the same time', async () => {
    const stores = Array.from({ length: 5 }, () => openEventStoreDb(double.url));
    const ids = await Promise.all(stores.map((one) => one.logId()));
    expect(new Set(ids).size).toBe(1);
    expect(await store.logId()).toBe(ids[0]);
    await Promise.all(stores.map((one) => one.close()));
  });

  it('stops a reader whose position predates the log', async () => {
    const stream = newStream();
    double.log.append({ stream, expected: 'no-stream', events: [event('KeyTeleported', { schemaVersion: 1 })] });
    const older = 'this process is older than the log';
    await expect(store.readStream(stream)).rejects.toThrow(older);
    await expect(follow(store, LOG_START).ended).rejects.toThrow(older);
  });
});
