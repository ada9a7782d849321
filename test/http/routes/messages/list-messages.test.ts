import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let organizationId: string;
let domainId: string;
let key: { id: string; value: string };
let other: { id: string; value: string };

const get = async (parameters: Record<string, string>, by = key.value) => {
  const answer = await service.request({ url: `/v1/messages?${new URLSearchParams(parameters)}`, key: by });
  return { status: answer.statusCode, body: answer.json() };
};
const found = async (parameters: Record<string, string>): Promise<readonly string[]> => {
  const { status, body } = await get(parameters);
  expect(status).toBe(200);
  return body.data.map(({ id }: { id: string }) => id);
};

const post = async (url: string, payload: object, by: string) => {
  await setTimeout(2);
  const answer = await service.request({ method: 'POST', url, key: by, payload });
  expect(answer.statusCode).toBe(202);
  return { ...answer.json(), requestId: String(answer.headers['x-request-id']) };
};
const message = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', text: 'Hello' };
const send = (more: object = {}, by = key.value) => post('/v1/messages/send', { ...message, ...more }, by);

let order: Awaited<ReturnType<typeof send>>;
let invoice: Awaited<ReturnType<typeof send>>;
let batch: Awaited<ReturnType<typeof send>>;
let batched: readonly string[];

beforeAll(async () => {
  service = await startDatabaseService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = await service.makeKey(organizationId, domainId);
  other = await service.makeKey(organizationId, domainId);
  order = await send({ subject: 'Your  Order №7 ', metadata: { customer: '42', note: 'a:b' } });
  invoice = await send({ subject: 'Invoice', metadata: { customer: '42' } }, other.value);
  batch = await post('/v1/messages/batch', { messages: [message, message, message] }, key.value);
  batched = batch.data.map(({ id }: { id: string }) => id);
});
afterAll(() => service.close());

describe('GET /v1/messages finds', () => {
  test('what a key sent', async () => {
    expect(await found({ key_id: other.id })).toEqual([invoice.id]);
    expect(new Set(await found({ key_id: key.id }))).toEqual(new Set([order.id, ...batched]));
    expect(await found({ key_id: `key_${'a'.repeat(26)}` })).toEqual([]);
  });

  test('parts of addresses, names, and tags by their name or value', async () => {
    const mail = {
      from: 'Billing Team <billing@example.test>',
      subject: 'Words',
      to: ['Ann Smith <ann.smith@mail.example.org>', 'bob@example.net'],
      tags: [{ name: 'campaign', value: 'Welcome' }],
    };
    const { id } = await send(mail);
    const matching = [
      ...['ann', 'ANN.SMI', 'smith@mail', 'bob', 'ann.smith@mail.example.org', 'bob@example.net'].map((to) => ({ to })),
      ...['billing', 'team', 'billing@exa'].map((from) => ({ from })),
      ...['campaign', 'welcome', 'campaign:Welcome'].map((tag) => ({ tag })),
    ];
    for (const filter of matching) expect([filter, await found(filter)]).toEqual([filter, [id]]);
    const others = [{ to: 'sophie' }, { tag: 'camp' }, { tag: 'campaign:welcome' }, { tag: 'campaign:' }];
    for (const filter of others) expect([filter, await found(filter)]).toEqual([filter, []]);
    expect(await found({ to: 'ann', from: 'team', tag: 'welcome', subject: 'words', key_id: key.id })).toEqual([id]);
    expect(await found({ to: 'ann jones' })).toEqual([]);
    const { data } = (await service.request({ url: '/v1/search?q=ann%20smi', key: key.value })).json();
    expect(data).toMatchObject([{ type: 'messages', title: 'Messages to ann smi', path: '/v1/messages?to=ann+smi' }]);
  });

  test.each([
    [{ to: '@' }, 'to must be an email address, or a part of one with a letter or a digit'],
    [{ to: '' }, 'to must be an email address, or a part of one with a letter or a digit'],
    [{ to: 'a\0b' }, 'to must not contain NUL'],
    [{ from: 'x'.repeat(10_000) }, 'from must have at most 320 characters'],
    [{ tag: 'x'.repeat(10_000) }, 'tag must have at most 513 characters'],
    [{ tag: '' }, 'tag must not be empty'],
    [{ tag: ':x' }, 'tag must be <name>:<value>, such as order:1234, or one of the two'],
  ])('no message by a value that cannot be one: %#', async (filter, problem) => {
    const { status, body } = await get(filter as Record<string, string>);
    expect([status, Object.values(body.error.details).flat()]).toEqual([400, expect.arrayContaining([problem])]);
  });

  test('words of a subject, all of them in any order', async () => {
    for (const subject of ['order', 'YOUR order', '№7, your', 'no7 ORDER your ', 'your your'])
      expect([subject, await found({ subject })]).toEqual([subject, [order.id]]);
    for (const subject of ['orde', 'your invoice', 'order 88', "order' or 1=1 --"])
      expect([subject, await found({ subject })]).toEqual([subject, []]);
    expect(await found({ subject: 'hello' })).toEqual(await found({ request_id: batch.requestId }));
  });

  test('a whole subject in quotes, whatever its letter case and white space', async () => {
    expect(await found({ subject: '"your order №7"' })).toEqual([order.id]);
    expect(await found({ subject: ' " YOUR ORDER   №7"' })).toEqual([order.id]);
    expect(await found({ subject: '"your order"' })).toEqual([]);
  });

  test.each(['', 'a', '👍', '"', ' \r\n'])('no subject without a word: %j', async (subject) => {
    const { body } = await get({ subject });
    expect([body.error.code, body.error.details]).toEqual([
      'invalid_request',
      { subject: ['subject must contain a word of two characters or more, or be a whole subject in double quotes'] },
    ]);
  });

  test('messages by words page by page', async () => {
    const seen: string[] = [];
    let after: Record<string, string> = {};
    for (let page = 0; page < 3; page += 1) {
      const { body } = await get({ subject: 'hello', to: 'b@example.org', limit: '1', ...after });
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      after = { after: body.next_cursor };
    }
    expect(seen).toEqual(await found({ request_id: batch.requestId }));
  });

  test('metadata by name and value, newest first', async () => {
    expect(await found({ metadata: 'customer:42' })).toEqual([invoice.id, order.id]);
    expect(await found({ metadata: 'note:a:b' })).toEqual([order.id]);
    expect(await found({ metadata: 'customer:43' })).toEqual([]);
    expect((await get({ metadata: 'customer' })).body.error.details).toEqual({
      metadata: ['metadata must be <name>:<value>, such as customer:42'],
    });
  });

  test('a mail by its Message-ID, with or without angle brackets', async () => {
    expect(await found({ message_id: order.message_id })).toEqual([order.id]);
    expect(await found({ message_id: order.message_id.slice(1, -1) })).toEqual([order.id]);
    expect(await found({ message_id: order.message_id.replace('example.test', 'example.org') })).toEqual([]);
    expect(await found({ message_id: '<somebody-elses@example.org>' })).toEqual([]);
  });

  test('all messages of a request', async () => {
    expect(await found({ request_id: order.requestId })).toEqual([order.id]);
    expect(new Set(await found({ request_id: batch.requestId }))).toEqual(new Set(batched));
    expect(await found({ request_id: `req_${'0'.repeat(32)}` })).toEqual([]);
  });

  test('messages that match all filters at once', async () => {
    expect(await found({ metadata: 'customer:42', key_id: key.id })).toEqual([order.id]);
    expect(await found({ metadata: 'customer:42', subject: 'invoice', to: 'b@example.org' })).toEqual([invoice.id]);
    expect(await found({ metadata: 'customer:42', subject: '"invoice"' })).toEqual([invoice.id]);
    expect(await found({ subject: 'hello', to: 'c@example.org' })).toEqual([]);
    expect(await found({ subject: 'hello', since: '2999-01-01T00:00:00Z' })).toEqual([]);
    expect(await found({ key_id: other.id, subject: 'your order №7' })).toEqual([]);
  });

  test('page by page', async () => {
    const seen: string[] = [];
    let after: Record<string, string> = {};
    for (let page = 0; page < 3; page += 1) {
      const { body } = await get({ request_id: batch.requestId, limit: '1', ...after });
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      expect(body.has_more).toBe(page < 2);
      after = { after: body.next_cursor };
    }
    expect(seen).toEqual(await found({ request_id: batch.requestId }));
  });

  test('nothing from another organization', async () => {
    const foreign = await service.makeOrganization();
    const stranger = await service.makeKey(foreign, await service.makeDomain(foreign, 'foreign.test'));
    for (const filter of [
      { key_id: key.id },
      { subject: 'invoice' },
      { to: 'b@exa' },
      { from: 'example' },
      { tag: 'campaign' },
      { subject: '"invoice"' },
      { metadata: 'customer:42' },
      { message_id: order.message_id },
      { request_id: order.requestId },
    ]) {
      expect((await get(filter, stranger.value)).body.data).toEqual([]);
    }
  });
});

test('the log contains no subject and no metadata', async () => {
  const { events } = await service.deps.context.store.readAll({ limit: 1_000 });
  const text = JSON.stringify(events);
  for (const personal of ['Order', 'Invoice', 'customer']) expect(text).not.toContain(personal);
});
