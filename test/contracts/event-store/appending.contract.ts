import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MalformedEvent } from '../../../src/domain/kernel/codec.ts';
import type { EventContext } from '../../../src/domain/kernel/event-store.ts';
import { WrongExpectedRevision } from '../../../src/domain/kernel/event-store.ts';
import type { EventStoreHarness } from './harness.ts';
import { events, first, idsOf, keyRevoked, largeEvent, newStream, next, textsOf } from './samples.ts';
import { sharedLog } from './shared-log.ts';

export const appendingContract = (harness: EventStoreHarness): void => {
  describe('appending', () => {
    const log = sharedLog(harness);

    it('numbers the events of a stream from zero', async () => {
      const { store } = log();
      const stream = newStream();
      const one = await store.append(first(stream, events(1)));
      const two = await store.append(next(stream, 0, events(2)));
      expect([one.revision, two.revision]).toEqual([0, 2]);
      expect((await store.readStream(stream)).map(({ revision }) => revision)).toEqual([0, 1, 2]);
    });

    it('returns the position of the last event, which rises with every event', async () => {
      const { store } = log();
      const stream = newStream();
      const one = await store.append(first(stream, events(3)));
      const two = await store.append(first(newStream(), events(1)));
      const recorded = await store.readStream(stream);
      const positions = recorded.map(({ position }) => position);
      expect(positions.toSorted()).toEqual(positions);
      expect(new Set(positions).size).toBe(3);
      expect(positions.at(-1)).toBe(one.position);
      expect(two.position > one.position).toBe(true);
      expect(two.position).toHaveLength(one.position.length);
    });

    it('refuses to start a stream that exists, and writes nothing', async () => {
      const { store } = log();
      const stream = newStream();
      await store.append(first(stream, events(2, 'old')));
      await expect(store.append(first(stream, events(1)))).rejects.toMatchObject({
        name: 'WrongExpectedRevision',
        stream,
        expected: 'no-stream',
        actual: 1,
      });
      expect(textsOf(await store.readStream(stream))).toEqual(['old0', 'old1']);
    });

    it('refuses to continue a stream that does not exist', async () => {
      const stream = newStream();
      await expect(log().store.append(next(stream, 0, events(1)))).rejects.toMatchObject({
        name: 'WrongExpectedRevision',
        stream,
        expected: 0,
        actual: 'no-stream',
      });
      expect(await log().store.readStream(stream)).toEqual([]);
    });

    it.each([0, 2])('refuses expectation %i for a stream at revision 1', async (expected) => {
      const { store } = log();
      const stream = newStream();
      await store.append(first(stream, events(2)));
      const refused = store.append(next(stream, expected, events(1)));
      await expect(refused).rejects.toBeInstanceOf(WrongExpectedRevision);
      await expect(refused).rejects.toMatchObject({ expected, actual: 1 });
    });

    it('keeps all metadata', async () => {
      const { store } = log();
      const context: EventContext = {
        $correlationId: 'req_äöü',
        $causationId: '7f1f3a52-0c58-4f0c-9d0f-0c2d8c1e5a11',
        occurredAt: '2026-11-20T10:00:00.123Z',
        actor: 'worker:deliver "quoted" \\ back',
        organizationId: 'org_7',
        environment: null,
        requestId: null,
      };
      const stream = newStream();
      const event = keyRevoked('🔑 "quoted", {braced}, \\ back, \u0000 nul  null');
      await store.append({ ...first(stream, [event]), context });
      const [recorded] = await store.readStream(stream);
      expect(recorded).toMatchObject({ ...event, stream, revision: 0 });
      expect(recorded?.metadata).toEqual({ ...context, schemaVersion: 1 });
    });

    it('returns the stored form, and keeps every byte of a copied one', async () => {
      const { store } = log();
      const [stream, copy] = [newStream(), newStream()];
      await store.append(first(stream, [keyRevoked('🔑 "quoted"'), keyRevoked('b')]));
      const stored = (await store.readStream(stream)).map((event) => event.stored);
      expect(stored[0]?.data).toBe('{"keyId":"🔑 \\"quoted\\""}');
      const ofOtherWriter = stored.map(({ type, data, metadata }) => ({
        ...{ id: randomUUID(), type },
        data: ` ${data}`,
        metadata: `${metadata} `,
      }));
      const append = { stream: copy, expected: 'no-stream', events: ofOtherWriter } as const;
      const appended = await store.appendStored(append);
      expect(await store.appendStored(append)).toEqual(appended);
      expect((await store.readStream(copy)).map((event) => event.stored)).toEqual(ofOtherWriter);
      const paged = await store.readAll({ direction: 'backwards', limit: 2 });
      expect(paged.events.map((event) => event.stored)).toEqual(ofOtherWriter.toReversed());
    });

    it('never writes data that its schema does not allow', async () => {
      const { store } = log();
      const stream = newStream();
      const malformed = { ...keyRevoked('x'), data: { keyId: 7 } } as never;
      await expect(store.append(first(stream, [keyRevoked('ok'), malformed]))).rejects.toBeInstanceOf(MalformedEvent);
      expect(await store.readStream(stream)).toEqual([]);
    });

    it('accepts an event of 64 kB', async () => {
      const { store } = log();
      const stream = newStream('webhook');
      const event = largeEvent(64_000);
      await store.append(first(stream, [event]));
      expect(await store.readStream(stream)).toMatchObject([event]);
    });

    it('accepts many large events in one append', async () => {
      const { store } = log();
      const stream = newStream('webhook');
      const many = Array.from({ length: 15 }, () => largeEvent(63_000));
      await store.append(first(stream, many));
      expect(idsOf(await store.readStream(stream))).toEqual(idsOf(many));
    });
  });

  describe('appending again with the same event ids', () => {
    const log = sharedLog(harness);

    it('returns the same answer and writes nothing, even after other writes', async () => {
      const { store } = log();
      const stream = newStream();
      const one = first(stream, events(1, 'one'));
      const two = next(stream, 0, events(2, 'two'));
      const answers = [await store.append(one), await store.append(two)];
      await store.append(next(stream, 2, events(1, 'three')));
      expect([await store.append(one), await store.append(two)]).toEqual(answers);
      expect(textsOf(await store.readStream(stream))).toEqual(['one0', 'two0', 'two1', 'three0']);
    });

    it('accepts a prefix of an earlier append as a repeat', async () => {
      const { store } = log();
      const stream = newStream();
      const all = events(3);
      await store.append(first(stream, all));
      const again = await store.append(first(stream, all.slice(0, 2)));
      expect(again.revision).toBe(1);
      expect(await store.readStream(stream)).toHaveLength(3);
    });

    it('is a conflict when a new event follows the old ones', async () => {
      const { store } = log();
      const stream = newStream();
      const old = events(2);
      await store.append(first(stream, old));
      await expect(store.append(first(stream, [...old, keyRevoked('new')]))).rejects.toMatchObject({ actual: 1 });
      expect(await store.readStream(stream)).toHaveLength(2);
    });

    it('is a conflict when the order differs', async () => {
      const { store } = log();
      const stream = newStream();
      const old = events(2);
      await store.append(first(stream, old));
      await expect(store.append(first(stream, old.toReversed()))).rejects.toBeInstanceOf(WrongExpectedRevision);
    });

    it('is a conflict in another stream that exists', async () => {
      const { store } = log();
      const some = events(1);
      const other = newStream();
      await store.append(first(newStream(), some));
      await store.append(first(other, events(1)));
      await expect(store.append(first(other, some))).rejects.toBeInstanceOf(WrongExpectedRevision);
    });
  });
};
