import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let organizationId: string;
let domainId: string;
let key: string;

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
});
afterAll(() => service.close());

const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };
const FAILING = { ...VALID, html: '<p>Dear {{first_name}}</p>', analysis: 'block' };
const LONG_PAST = '2020-01-01T00:00:00Z';

const batch = (payload: object | string, by = key, headers: Record<string, string> = {}) =>
  service.request({
    method: 'POST',
    url: '/v1/messages/batch',
    key: by,
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  });

const written = async (): Promise<number> =>
  (await service.deps.context.store.readAll({ filter: { categories: ['message'] }, limit: 10_000 })).events.length;

describe('POST /v1/messages/batch', () => {
  test('accepts each message as a send does, in the order they were given', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const answer = await batch({ messages: [VALID, { ...VALID, to: ['c@example.org'], scheduled_at: tomorrow }] });
    expect(answer.statusCode).toBe(202);
    const { data, ...counts } = answer.json();
    expect(counts).toEqual({ object: 'batch', accepted: 2, refused: 0 });
    expect(data).toEqual([
      {
        index: 0,
        http_status: 202,
        status: 'accepted',
        object: 'message',
        environment: 'live',
        id: data[0].id,
        message_id: `<${data[0].id}@example.test>`,
        created_at: expect.any(String),
        recipients: [{ id: expect.any(String), address: 'b@example.org', kind: 'to', status: 'accepted' }],
      },
      expect.objectContaining({ index: 1, http_status: 202, status: 'scheduled', scheduled_at: tomorrow }),
    ]);
    expect(data[1].recipients[0]).toMatchObject({ address: 'c@example.org', status: 'scheduled' });
    for (const { id } of data) {
      expect((await service.request({ url: `/v1/messages/${id}`, key })).json()).toMatchObject({ id });
    }
  });

  test('returns an analysis for each message that requests one', async () => {
    const answer = await batch({ messages: [VALID, { ...FAILING, analysis: 'warn' }] });
    expect(answer.json().data[0]).not.toHaveProperty('analysis');
    expect(answer.json().data[1].analysis).toMatchObject({ verdict: 'fail' });
  });

  test('accepts 500', async () => {
    const answer = await batch({ messages: Array.from({ length: 500 }, () => VALID) });
    expect(answer.json()).toMatchObject({ accepted: 500, refused: 0 });
    expect(new Set(answer.json().data.map(({ id }: { id: string }) => id)).size).toBe(500);
  });

  test.each([
    ['nothing', {}, { messages: ['messages is required'] }],
    ['null', 'null', { body: ['body must be an object'] }],
    ['an array', '[]', { body: ['body must be an object'] }],
    ['no message', { messages: [] }, { messages: ['messages must not be empty'] }],
    ['messages of the wrong type', { messages: 'x' }, { messages: ['messages must be an array'] }],
    ['501 messages', { messages: Array(501).fill(VALID) }, { messages: ['messages must have at most 500 items'] }],
    ['another mode', { messages: [VALID], mode: 'x' }, { mode: ['mode must be one of strict, partial'] }],
    ['another field', { messages: [VALID], x: 1 }, { x: ['x is not a known field'] }],
  ])('refuses %s', async (_what, payload, details) => {
    const before = await written();
    const answer = await batch(payload);
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'invalid_request']);
    expect(answer.json().error.details).toEqual(details);
    expect(await written()).toBe(before);
  });
});

describe('a batch or message that is too large', () => {
  test('is 413: a batch by its bytes, a message by what it would become', async () => {
    const large = await batch(`{"messages":["${'x'.repeat(29_000_000)}"]}`);
    expect([large.statusCode, large.json().error.code]).toEqual([413, 'body_too_large']);
    const attachments = [{ filename: 'a', content: Buffer.alloc(18_600_000).toString('base64') }];
    const one = await batch({ messages: [VALID, { ...VALID, attachments }] });
    expect([one.statusCode, one.json().error.code]).toEqual([413, 'body_too_large']);
    expect(Object.keys(one.json().error.details)).toEqual(['messages[1]']);
    const alone = await batch({ messages: [VALID, { ...VALID, attachments }], mode: 'partial' });
    expect(alone.json().data.map(({ http_status }: { http_status: number }) => http_status)).toEqual([202, 413]);
  });
});

describe('a strict batch', () => {
  const refused = async (messages: readonly unknown[]) => {
    const before = await written();
    const answer = await batch({ messages });
    expect(await written()).toBe(before);
    const { code, details } = answer.json().error;
    return { status: answer.statusCode, code, details };
  };

  test('is refused if one message is wrong, naming every problem by its place', async () => {
    expect(await refused([VALID, { ...VALID, to: 'nobody', x: 1 }, null, VALID, { subject: 'a\r\nBcc: b' }])).toEqual({
      status: 400,
      code: 'invalid_request',
      details: {
        'messages[1].to': ['messages[1].to is not an email address: it has no @'],
        'messages[1].x': ['messages[1].x is not a known field'],
        'messages[2]': ['messages[2]: a message must be an object'],
        'messages[4].from': ['messages[4].from is required'],
        'messages[4].to': ['messages[4].to is required'],
        'messages[4].subject': ['messages[4].subject must not contain line breaks or control characters'],
        'messages[4].html': ['messages[4].html or text is required'],
      },
    });
  });

  test('reports broken HTML as such when nothing else is wrong', async () => {
    expect(await refused([VALID, { ...VALID, html: '<div>' }])).toMatchObject({
      status: 400,
      code: 'invalid_html',
      details: { 'messages[1].html': [expect.stringMatching(/^messages\[1\]\.html must be valid HTML: line 1/)] },
    });
    expect(await refused([{ ...VALID, html: '<div>' }, {}])).toMatchObject({ code: 'invalid_request' });
  });

  test('reports malformed messages first, then forbidden, then impossible ones', async () => {
    const [foreign, late] = [
      { ...VALID, from: 'a@other.test' },
      { ...VALID, scheduled_at: LONG_PAST },
    ];
    expect(await refused([late, foreign, { ...VALID, subject: 5 }])).toEqual({
      status: 400,
      code: 'invalid_request',
      details: { 'messages[2].subject': ['messages[2].subject must be a string'] },
    });
    expect(await refused([late, foreign, VALID])).toEqual({
      status: 403,
      code: 'from_domain_mismatch',
      details: { 'messages[1].from': ["messages[1].from must be an address on example.test, the key's domain"] },
    });
    expect(await refused([VALID, late])).toEqual({
      status: 422,
      code: 'schedule_not_possible',
      details: { 'messages[1].scheduled_at': ['messages[1].scheduled_at must be in the future'] },
    });
    expect(await refused([VALID, FAILING])).toMatchObject({
      status: 422,
      code: 'analysis_failed',
      details: { 'messages[1].html': [expect.stringContaining('Replace the placeholder')] },
    });
  });

  test('reports a hundred problems, not a million', async () => {
    const { details } = await refused(Array(500).fill({}));
    expect(Object.keys(details)).toHaveLength(100);
  });
});

describe('a partial batch', () => {
  test('treats each message on its own', async () => {
    const before = await written();
    const messages = [{}, VALID, { ...VALID, from: 'a@other.test' }, { ...VALID, scheduled_at: LONG_PAST }, FAILING, 5];
    const answer = await batch({ messages, mode: 'partial' });
    expect(answer.statusCode).toBe(202);
    const { accepted, refused, data } = answer.json();
    expect([accepted, refused]).toEqual([1, 5]);
    expect(
      data.map((one: { http_status: number; error?: { code: string } }) => [one.http_status, one.error?.code]),
    ).toEqual([
      [400, 'invalid_request'],
      [202, undefined],
      [403, 'from_domain_mismatch'],
      [422, 'schedule_not_possible'],
      [422, 'analysis_failed'],
      [400, 'invalid_request'],
    ]);
    expect(data.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(data[0].error.details.to).toEqual(['to is required']);
    expect(await written()).toBe(before + 1);
  });

  test('is answered 202 even if all are refused', async () => {
    const answer = await batch({ messages: [{}, {}], mode: 'partial' }, key, { 'idempotency-key': 'all refused' });
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toMatchObject({ accepted: 0, refused: 2 });
    expect(answer.headers['idempotent-replayed']).toBeUndefined();
  });

  test('is refused as a whole if a message is nested 50,000 deep', async () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    const answer = await batch(`{"mode":"partial","messages":[${deep},${JSON.stringify(VALID)}]}`);
    expect([answer.statusCode, answer.json().error.details]).toEqual([
      400,
      { messages: [`messages[0]${'.a'.repeat(14)} must not be nested deeper than 16 levels`] },
    ]);
  });
});

describe('the limit of a key', () => {
  let limited: string;
  beforeEach(async () => {
    limited = (await service.makeKey(organizationId, domainId, { rateLimits: { send: 10 } })).value;
  });
  const batchOf = (count: number) => batch({ messages: Array(count).fill(VALID) }, limited);

  test('is consumed by every message, and both generations of headers show what is left', async () => {
    const answer = await batchOf(7);
    expect(answer.statusCode).toBe(202);
    expect(answer.headers).toMatchObject({ 'ratelimit-remaining': '3', ratelimit: '"send";r=3;t=60' });
    expect((await batchOf(3)).headers['ratelimit-remaining']).toBe('0');
  });

  test('refuses a batch that is larger than all of it with 422', async () => {
    const before = await written();
    const answer = await batchOf(11);
    expect([answer.statusCode, answer.json().error.code]).toEqual([422, 'batch_exceeds_limit']);
    expect(answer.json().error.details).toHaveProperty('messages');
    expect(answer.headers['ratelimit-remaining']).toBe('9');
    expect(await written()).toBe(before);
  });

  test('refuses a batch that is larger than what is left with 429, and leaves it as it was', async () => {
    await batchOf(5);
    const before = await written();
    const answer = await batchOf(6);
    expect(answer.statusCode).toBe(429);
    expect(answer.json().error).toMatchObject({ code: 'rate_limit_exceeded', retry_after: 60 });
    expect(answer.headers).toMatchObject({ 'retry-after': '60', 'ratelimit-remaining': '4' });
    expect(await written()).toBe(before);
    expect((await batchOf(4)).statusCode).toBe(202);
  });
});
