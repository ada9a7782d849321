import { describe, expect, it } from 'vitest';
import { type EventStore, type StreamName, WrongExpectedRevision } from '../../../src/domain/kernel/event-store.ts';
import { follow } from './following.ts';
import { claimed, type EventStoreHarness, sentence } from './harness.ts';
import { events, first, newStream, next, textsOf } from './samples.ts';
import { sharedLog } from './shared-log.ts';

const ROUNDS = 40;

/**
 * Tries to append to `contested` and appends three pairs of events elsewhere, `ROUNDS` times. Returns how often it won.
 */
const contend = async (store: EventStore, contested: StreamName, name: string): Promise<number> => {
  let won = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const [last] = await store.readStream(contested, { direction: 'backwards', limit: 1 });
    const expected = last?.revision ?? 'no-stream';
    won += await store.append({ ...first(contested, events(1, `${name}-${round}-`)), expected }).then(
      () => 1,
      () => 0,
    );
    await Promise.all([1, 2, 3].map(() => store.append(first(newStream(), events(2)))));
  }
  return won;
};

export const concurrencyContract = (harness: EventStoreHarness): void => {
  describe('concurrent writers', () => {
    const log = sharedLog(harness);

    it('lets one of 50 appends with the same expectation win', async () => {
      const { store } = log();
      const stream = newStream();
      await store.append(first(stream, events(1)));
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, index) => store.append(next(stream, 0, events(2, `w${index}-`)))),
      );
      const won = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [index] : []));
      const lost = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      expect(won).toHaveLength(1);
      expect(lost).toHaveLength(49);
      for (const reason of lost) {
        expect(reason).toBeInstanceOf(WrongExpectedRevision);
        expect(reason).toMatchObject({ expected: 0, actual: 2 });
      }
      expect(textsOf(await store.readStream(stream)).slice(1)).toEqual([`w${won[0]}-0`, `w${won[0]}-1`]);
    });

    it('gives each of many concurrent appends its own answer, and a follower sees all of them in order', async () => {
      const { store } = log();
      const following = follow(store, await store.head());
      const taken = newStream();
      await store.append(first(taken, events(1)));
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          if (index % 10 === 0) {
            await expect(store.append(first(taken, events(1)))).rejects.toBeInstanceOf(WrongExpectedRevision);
            return [];
          }
          const stream = newStream();
          const { revision, position } = await store.append(first(stream, events((index % 3) + 1)));
          expect(revision).toBe(index % 3);
          return [{ stream, position, revision }];
        }),
      );
      const appended = answers.flat();
      const count = appended.reduce((sum, { revision }) => sum + revision + 1, 1);
      const seen = await following.saw(count);
      await following.stop();
      const positions = seen.map(({ position }) => position);
      expect(positions.toSorted()).toEqual(positions);
      expect(new Set(positions).size).toBe(count);
      for (const { stream, position, revision } of appended) {
        const its = seen.filter((event) => event.stream === stream);
        expect(its.map((event) => event.revision)).toEqual(Array.from({ length: revision + 1 }, (_, index) => index));
        expect(its.at(-1)?.position).toBe(position);
      }
    });

    it('orders dependent appends to one stream', async () => {
      const { store } = log();
      const stream = newStream();
      await store.append(first(stream, events(1)));
      const answers = await Promise.all(
        [0, 1, 2]
          .map((expected) => store.append(next(stream, expected, events(1))))
          .map((append) =>
            append.then(
              ({ revision }) => revision,
              () => 'refused',
            ),
          ),
      );
      // One writer sent these in order. An adapter may or may not make the later ones wait for the earlier.
      expect(answers[0]).toBe(1);
      const length = answers.filter((answer) => answer !== 'refused').length + 1;
      expect(await store.readStream(stream)).toHaveLength(length);
    });

    sentence(
      harness,
      ['other-process'],
      'keeps order and revisions when other processes write and follow',
      async () => {
        const { store, openAnother } = log();
        const others = [await claimed(openAnother)(), await claimed(openAnother)()];
        const head = await store.head();
        const followings = [store, ...others].map((one) => follow(one, head));
        const contested = newStream();
        const wins = await Promise.all([store, ...others].map((one, index) => contend(one, contested, `p${index}`)));
        const won = wins.reduce((sum, count) => sum + count, 0);
        const total = won + 3 * ROUNDS * 3 * 2;
        const seen = await Promise.all(followings.map((following) => following.saw(total)));
        await Promise.all(followings.map((following) => following.stop()));
        expect(seen[1]).toEqual(seen[0]);
        expect(seen[2]).toEqual(seen[0]);
        expect(seen[0]).toHaveLength(total);
        expect((await store.readStream(contested)).map(({ revision }) => revision)).toEqual(
          Array.from({ length: won }, (_, index) => index),
        );
      },
    );
  });
};
