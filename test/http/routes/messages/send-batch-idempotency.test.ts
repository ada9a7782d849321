import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import type { Append } from '../../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../../src/lib/async/async.ts';
import { createInMemoryContents } from '../../../support/in-memory/contents.ts';
import { createMemoryStore, type Service, startService } from '../../support/service.ts';

const DAY_MS = 86_400_000;

let service: Service;
let organizationId: string;
let domainId: string;
let key: string;
/** Offset of the clock, in ms. */
let aheadMs = 0;
/** Number of appends that succeed before the log fails. */
let appendsLeft = Number.POSITIVE_INFINITY;

beforeAll(async () => {
  const contents = createInMemoryContents();
  const store = createMemoryStore(contents);
  const append = async (asked: Append) => {
    appendsLeft -= 1;
    if (appendsLeft < 0) throw new StoreUnavailable('away');
    return store.append(asked);
  };
  const system = { ...createSystem(), now: () => new Date(Date.now() + aheadMs) };
  service = await startService({ context: { contents, system, store: { ...store, append } } });
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
});
afterAll(() => service.close());

const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };
const messagesOf = (count: number) => Array.from({ length: count }, (_, index) => ({ ...VALID, subject: `${index}` }));
const inDays = (days: number): string => new Date(Date.now() + aheadMs + days * DAY_MS).toISOString();

const post = (path: string, name: string, payload: object, by = key) =>
  service.request({
    method: 'POST',
    url: `/v1/messages/${path}`,
    key: by,
    payload,
    headers: { 'idempotency-key': name },
  });
const batch = (name: string, payload: object, by = key) => post('batch', name, payload, by);
const codeOf = (answer: Awaited<ReturnType<typeof batch>>) => [answer.statusCode, answer.json().error?.code];
const isReplay = ({ headers }: Awaited<ReturnType<typeof batch>>) => headers['idempotent-replayed'] === 'true';
const idsOf = (answer: Awaited<ReturnType<typeof batch>>): string[] =>
  answer.json().data.map(({ id }: { id?: string }) => id);

const written = async (): Promise<number> =>
  (await service.deps.context.store.readAll({ filter: { categories: ['message'] }, limit: 10_000 })).events.length;
/** The number of messages that `work` writes. */
const writtenBy = async (work: () => Promise<unknown>): Promise<number> => {
  const before = await written();
  await work();
  return (await written()) - before;
};

describe('a batch with an Idempotency-Key', () => {
  test('has the same response again, and nothing is written', async () => {
    const first = await batch('same', { messages: messagesOf(5) });
    expect([first.statusCode, isReplay(first)]).toEqual([202, false]);
    const added = await writtenBy(async () => {
      const second = await batch('same', { messages: messagesOf(5) });
      expect([second.statusCode, second.body, isReplay(second)]).toEqual([202, first.body, true]);
    });
    expect(added).toBe(0);
  });

  test('sent 20 times at once is one batch', async () => {
    const added = await writtenBy(async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => batch('raced', { messages: messagesOf(10) })));
      expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    });
    expect(added).toBe(10);
  });

  test.each([
    ['another message', { messages: [...messagesOf(3).slice(0, 2), { ...VALID, subject: 'Other' }] }],
    ['one message more', { messages: messagesOf(4) }],
    ['one message less', { messages: messagesOf(2) }],
    ['another order', { messages: messagesOf(3).toReversed() }],
    ['another mode', { messages: messagesOf(3), mode: 'partial' }],
  ])('is refused with %s, and nothing is written', async (_what, other) => {
    await batch('other', { messages: messagesOf(3) });
    expect(
      await writtenBy(async () => expect(codeOf(await batch('other', other))).toEqual([422, 'idempotency_key_reused'])),
    ).toBe(0);
  });

  test('shares its key with single sends', async () => {
    await post('send', 'single first', VALID);
    expect(codeOf(await batch('single first', { messages: [VALID] }))).toEqual([422, 'idempotency_key_reused']);
    await batch('batch first', { messages: [VALID] });
    expect(codeOf(await post('send', 'batch first', VALID))).toEqual([422, 'idempotency_key_reused']);
  });

  test('that stopped halfway is completed by the same request', async () => {
    const messages = messagesOf(6);
    appendsLeft = 1;
    const first = await batch('halfway', { messages });
    appendsLeft = Number.POSITIVE_INFINITY;
    expect(first.statusCode).toBe(503);
    expect(first.headers['retry-after']).toBe('1');
    const added = await writtenBy(async () => {
      const second = await batch('halfway', { messages });
      expect([second.statusCode, isReplay(second)]).toEqual([202, false]);
      expect(new Set(idsOf(second)).size).toBe(6);
      const third = await batch('halfway', { messages });
      expect([third.body, isReplay(third)]).toEqual([second.body, true]);
    });
    expect(added).toBe(5);
  });

  test('is replayed when what it requested has become impossible', async () => {
    const messages = [VALID, { ...VALID, scheduled_at: inDays(1) }, { ...VALID, scheduled_at: inDays(2) }];
    const first = await batch('too late', { messages });
    expect(first.statusCode).toBe(202);
    aheadMs = 3 * DAY_MS;
    const second = await batch('too late', { messages });
    const unheardOf = await batch('too late and new', { messages });
    aheadMs = 0;
    expect([second.statusCode, second.body, isReplay(second)]).toEqual([202, first.body, true]);
    expect(codeOf(unheardOf)).toEqual([422, 'schedule_not_possible']);
  });

  test('belongs to the organization and the environment', async () => {
    const payload = { messages: messagesOf(2) };
    const first = await batch('shared', payload);
    const other = await service.makeKey(organizationId, domainId);
    expect((await batch('shared', payload, other.value)).body).toBe(first.body);
    const simulated = await service.makeKey(organizationId, domainId, { environment: 'test' });
    expect(idsOf(await batch('shared', payload, simulated.value))).not.toEqual(idsOf(first));
    const foreign = await service.makeOrganization();
    const foreignKey = await service.makeKey(foreign, await service.makeDomain(foreign, 'foreign.test'));
    const messages = payload.messages.map((one) => ({ ...one, from: 'a@foreign.test' }));
    const theirs = await batch('shared', { messages }, foreignKey.value);
    expect([theirs.statusCode, isReplay(theirs)]).toEqual([202, false]);
  });
});

describe('a partial batch with an Idempotency-Key', () => {
  test('is identified by its first accepted message, whichever that was', async () => {
    const payload = { mode: 'partial', messages: [{}, VALID, {}] };
    const first = await batch('partial', payload);
    expect(first.json()).toMatchObject({ accepted: 1, refused: 2 });
    const second = await batch('partial', payload);
    expect([second.body, isReplay(second)]).toEqual([first.body, true]);
    const added = await writtenBy(async () => {
      const others = [{ messages: [VALID, VALID] }, { mode: 'partial', messages: [VALID, {}] }];
      for (const other of others)
        expect(codeOf(await batch('partial', other))).toEqual([422, 'idempotency_key_reused']);
      expect(codeOf(await post('send', 'partial', VALID))).toEqual([422, 'idempotency_key_reused']);
    });
    expect(added).toBe(0);
  });

  test('retries what was refused, and replays the rest', async () => {
    const payload = {
      mode: 'partial',
      messages: [{ ...VALID, scheduled_at: inDays(31) }, { ...VALID, scheduled_at: inDays(1) }, VALID],
    };
    const first = await batch('later', payload);
    expect(first.json()).toMatchObject({ accepted: 2, refused: 1 });
    aheadMs = 2 * DAY_MS;
    const second = await batch('later', payload);
    const third = await batch('later', payload);
    aheadMs = 0;
    expect(second.json()).toMatchObject({ accepted: 3, refused: 0 });
    expect(isReplay(second)).toBe(false);
    expect(second.json().data.slice(1)).toEqual(first.json().data.slice(1));
    expect(new Set(idsOf(second)).size).toBe(3);
    expect([third.body, isReplay(third)]).toEqual([second.body, true]);
  });

  test('is replayed when all of it has become impossible', async () => {
    const payload = { mode: 'partial', messages: [{}, { ...VALID, scheduled_at: inDays(1) }] };
    const first = await batch('none left', payload);
    aheadMs = 2 * DAY_MS;
    const second = await batch('none left', payload);
    aheadMs = 0;
    expect([second.body, isReplay(second)]).toEqual([first.body, true]);
  });
});
