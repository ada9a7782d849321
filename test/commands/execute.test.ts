import { describe, expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { execute } from '../../src/commands/execute.ts';
import { apiKey } from '../../src/domain/api-key/api-key.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import { DomainError } from '../../src/domain/kernel/errors.ts';
import { type Append, AppendOutcomeUnknown, type EventStore } from '../../src/domain/kernel/event-store.ts';
import type { ApiKeyEvent } from '../../src/domain/kernel/events.ts';
import { apiKeyStream } from '../../src/domain/kernel/streams.ts';
import { StoreUnavailable } from '../../src/lib/async/async.ts';
import { keyCreated, keyRevoked, keyRotated } from '../support/controls/api-key.ts';
import { createInMemoryEventStore } from '../support/in-memory-event-store.ts';
import { contextAt, NOW } from '../support/specification.ts';

const system = createSystem();
const newStore = (): EventStore => createInMemoryEventStore({ codec: eventCodec, system });
const stream = apiKeyStream('key_1');
const execution = (decide: () => readonly ApiKeyEvent[]) => ({
  aggregate: apiKey,
  stream,
  context: contextAt(NOW),
  decide,
});

describe('executing a command', () => {
  test('appends what was decided, and returns the resulting state', async () => {
    const store = newStore();
    const done = await execute(
      { store, system },
      execution(() => [keyCreated(), keyRevoked]),
    );
    expect(done).toMatchObject({ revision: 1, state: { status: 'revoked' }, events: [keyCreated(), keyRevoked] });
    expect((await store.readStream(stream)).map(({ type }) => type)).toEqual(['KeyCreated', 'KeyRevoked']);
  });

  test('appends nothing if nothing was decided', async () => {
    const store = newStore();
    expect(
      await execute(
        { store, system },
        execution(() => []),
      ),
    ).toMatchObject({ revision: 'no-stream', position: null });
    expect(await store.readStream(stream)).toEqual([]);
  });

  test('decides again after a concurrent write', async () => {
    const store = newStore();
    const tools = { store, system };
    await execute(
      tools,
      execution(() => [keyCreated()]),
    );
    const seen: number[] = [];
    const known = { state: apiKey.initial, revision: 'no-stream' as const };
    await execute(tools, {
      ...execution(() => []),
      known,
      decide: (state) => {
        seen.push(state.status === 'absent' ? 0 : 1);
        return [keyRevoked];
      },
    });
    expect(seen).toEqual([0, 1]);
  });

  const codeOf = (attempt: Promise<unknown>): Promise<string | null> =>
    attempt.then(
      () => null,
      (error) => (error instanceof DomainError ? error.code : String(error)),
    );

  test('for one revision is refused at any other, before anything is decided', async () => {
    const tools = { store: newStore(), system };
    await execute(
      tools,
      execution(() => [keyCreated()]),
    );
    let decided = 0;
    const decide = (): readonly ApiKeyEvent[] => {
      decided += 1;
      return [];
    };
    const at = (atRevisions: readonly number[]) => codeOf(execute(tools, { ...execution(decide), atRevisions }));
    expect([await at([1]), await at([]), decided]).toEqual(['precondition_failed', 'precondition_failed', 0]);
    expect([await at([0]), await at([7, 0]), decided]).toEqual([null, null, 2]);
  });

  test('for one revision is refused after a concurrent write', async () => {
    const store = newStore();
    const tools = { store, system };
    await execute(
      tools,
      execution(() => [keyCreated()]),
    );
    const rotate = (number: number) =>
      codeOf(execute(tools, { ...execution(() => [keyRotated(number, NOW)]), atRevisions: [0] }));
    expect((await Promise.all([rotate(1), rotate(2)])).sort()).toEqual([null, 'precondition_failed'].sort());
    expect(await store.readStream(stream)).toHaveLength(2);
  });

  test('gives up with an error after a bounded number of conflicts', async () => {
    const store = newStore();
    const racing: EventStore = {
      ...store,
      append: async (append: Append) => {
        const events = [{ ...keyRotated(1, NOW), id: system.uuid() }];
        const last = (await store.readStream(stream)).at(-1);
        await store.append({ ...append, expected: last?.revision ?? 'no-stream', events });
        return store.append(append);
      },
    };
    const attempt = execute(
      { store: racing, system },
      execution(() => [keyCreated()]),
    );
    await expect(attempt).rejects.toSatisfy(
      (error) => error instanceof DomainError && error.code === 'resource_conflict',
    );
  });

  test('with an unknown outcome appends again with the same ids, so that nothing is written twice', async () => {
    const store = newStore();
    let lost = 2;
    const lossy: EventStore = {
      ...store,
      append: async (append) => {
        const appended = await store.append(append);
        if (lost-- > 0) throw new AppendOutcomeUnknown('no answer');
        return appended;
      },
    };
    const done = await execute(
      { store: lossy, system },
      execution(() => [keyCreated()]),
    );
    expect(done.revision).toBe(0);
    expect(await store.readStream(stream)).toHaveLength(1);
  });

  test.each([
    [3, 'written'],
    [4, 'unknown'],
  ])('with an unknown outcome %i times is %s', async (times, expected) => {
    const store = newStore();
    let left = times;
    const away: EventStore = {
      ...store,
      append: async (append) => {
        if (left-- > 0) throw new AppendOutcomeUnknown('no answer');
        return store.append(append);
      },
    };
    const tools = { store: away, system: { ...system, sleep: async () => undefined } };
    const executed = execute(
      tools,
      execution(() => [keyCreated()]),
    );
    const outcome = await executed.then(
      () => 'written',
      (error: unknown) => (error instanceof AppendOutcomeUnknown ? 'unknown' : error),
    );
    expect(outcome).toBe(expected);
  });

  test.each([
    ['its own append', true, 1],
    ['the append of another writer', false, 2],
  ])('after an unknown outcome finds %s in a log that has forgotten the ids', async (_, isOwn, decisions) => {
    const store = newStore();
    let tries = 0;
    const restarted: EventStore = {
      ...store,
      append: async (append) => {
        tries += 1;
        if (tries > 1)
          return store.append({ ...append, events: append.events.map((one) => ({ ...one, id: system.uuid() })) });
        const ids = append.events.map(({ id }) => (isOwn ? id : system.uuid()));
        await store.append({
          ...append,
          events: append.events.map((one, index) => ({ ...one, id: ids[index] ?? '' })),
        });
        throw new AppendOutcomeUnknown('no answer');
      },
    };
    let decided = 0;
    const done = await execute(
      { store: restarted, system: { ...system, sleep: async () => undefined } },
      execution(() => {
        decided += 1;
        return decided === 1 ? [keyCreated()] : [];
      }),
    );
    expect([done.revision, decided]).toEqual([0, decisions]);
    expect(await store.readStream(stream)).toHaveLength(1);
  });

  test('with an unknown outcome stays unknown while the log is away', async () => {
    const store = newStore();
    let tries = 0;
    const away: EventStore = {
      ...store,
      append: async () => {
        tries += 1;
        throw tries === 1 ? new AppendOutcomeUnknown('no answer') : new StoreUnavailable('the log cannot be reached');
      },
    };
    const executed = execute(
      { store: away, system: { ...system, sleep: async () => undefined } },
      execution(() => [keyCreated()]),
    );
    await expect(executed).rejects.toBeInstanceOf(AppendOutcomeUnknown);
    expect(tries).toBe(4);
  });

  test('folds a stream longer than one page', async () => {
    const store = newStore();
    const tools = { store, system };
    const rotations = Array.from({ length: 1500 }, (_, index) => keyRotated(index, '2099-01-01T00:00:00.000Z'));
    await execute(
      tools,
      execution(() => [keyCreated(), ...rotations]),
    );
    const { state } = await execute(
      tools,
      execution(() => []),
    );
    expect(state).toMatchObject({ earlierSecrets: { length: 1500 } });
  });
});
