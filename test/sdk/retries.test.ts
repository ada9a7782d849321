import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  ApiError,
  type Configuration,
  ConnectionError,
  createOutbox,
  type Outbox,
  RateLimitError,
  TimedOutError,
} from '../../sdk/src/index.ts';
import { backOff, waitBefore } from '../../sdk/src/retry.ts';
import { freePort } from '../support/free-port.ts';
import { failureOf, json, refusal, type Script, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());
// Chooses the shortest possible waits.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));

const outboxWith = (more: Partial<Configuration> = {}): Outbox =>
  createOutbox({ apiKey: 'ob_test_x', baseUrl: server.url, timeoutMs: 5_000, ...more });

const MAIL = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x' };
const SENT = { id: 'msg_1', object: 'message' };
const ok = json(202, SENT);
const reset: Script = (response) => void response.destroy();
const half: Script = (response) => {
  response.writeHead(202, { 'content-length': '100', 'content-type': 'application/json' });
  response.write('{"id":');
  setTimeout(() => response.destroy(), 10);
};
const proxy = (status: number): Script => {
  return (response) => void response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
};

describe('a send', () => {
  test.each([
    [429, refusal(429, 'rate_limit_exceeded', { retry_after: 0 })],
    [500, refusal(500, 'internal_error')],
    [502, proxy(502)],
    [503, refusal(503, 'unavailable')],
    [504, proxy(504)],
    ['a reset connection', reset],
    ['half an answer', half],
    ['an answer that is no JSON', proxy(200)],
  ])('is retried after %s, with the same key and body', async (_, script) => {
    server.script(script, script, ok);
    expect(await outboxWith().messages.send(MAIL)).toEqual(SENT);
    expect(server.asked).toHaveLength(3);
    expect(new Set(server.asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(server.asked[0]?.headers['idempotency-key']).toMatch(/^[\x20-\x7e]{1,255}$/);
    for (const one of server.asked) {
      expect(one).toMatchObject({ method: 'POST', url: '/v1/messages/send' });
      expect(one.headers).toMatchObject({ authorization: 'Bearer ob_test_x', 'content-type': 'application/json' });
      expect(JSON.parse(one.body)).toEqual(MAIL);
    }
  });

  test.each([400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 301, 302, 307, 308, 501, 505])(
    'is not retried after %i',
    async (status) => {
      server.script(refusal(status, 'some_code', { details: { to: ['to is required'] } }));
      const error = await failureOf(outboxWith().messages.send(MAIL));
      expect(error).toMatchObject({
        status,
        code: 'some_code',
        message: 'refused: some_code',
        details: { to: ['to is required'] },
        requestId: `req_${status}`,
      });
      expect(error).toBeInstanceOf(ApiError);
      expect(server.asked).toHaveLength(1);
    },
  );

  test('has a new key for each call, or the given one', async () => {
    server.script(ok);
    const outbox = outboxWith();
    await outbox.messages.send(MAIL);
    await outbox.messages.send(MAIL);
    await outbox.messages.send(MAIL, { idempotencyKey: 'order-7' });
    const [first, second, third] = server.asked.map(({ headers }) => headers['idempotency-key']);
    expect(second).not.toBe(first);
    expect(third).toBe('order-7');
  });

  test('ends after its number of attempts', async () => {
    server.script(proxy(500));
    expect(await failureOf(outboxWith({ maxRetries: 2 }).messages.send(MAIL))).toMatchObject({ status: 500 });
    expect(server.asked).toHaveLength(3);
    await failureOf(outboxWith({ maxRetries: 2 }).messages.send(MAIL, { maxRetries: 0 }));
    expect(server.asked).toHaveLength(4);
  });

  test('is not retried if the stated wait exceeds its total time', async () => {
    server.script(refusal(429, 'rate_limit_exceeded', { retry_after: 3_600 }));
    const error = await failureOf(outboxWith().messages.send(MAIL));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.retryAfter).toBe(3_600);
    expect(server.asked).toHaveLength(1);
  });

  test('is retried when no response arrives in time', async () => {
    server.script(() => undefined, ok);
    expect(await outboxWith({ timeoutMs: 100 }).messages.send(MAIL)).toEqual(SENT);
    server.script(() => undefined);
    expect(await failureOf(outboxWith({ timeoutMs: 50, maxRetries: 1 }).messages.send(MAIL))).toBeInstanceOf(
      TimedOutError,
    );
    expect(server.asked).toHaveLength(2);
  });

  test('is retried when a response begins and never ends', async () => {
    server.script((response) => void response.writeHead(202).write('{'), ok);
    expect(await outboxWith({ timeoutMs: 100 }).messages.send(MAIL)).toEqual(SENT);
  });

  test('ends with the signal: before it starts, while it waits for a response, and between attempts', async () => {
    server.script(() => undefined);
    const reason = new Error('enough');
    expect(await failureOf(outboxWith().messages.send(MAIL, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(server.asked).toHaveLength(0);
    for (const script of [(): void => undefined, refusal(429, 'rate_limit_exceeded', { retry_after: 30 })]) {
      const controller = new AbortController();
      server.script((response, asked) => {
        script(response, asked);
        setTimeout(() => controller.abort(reason), 20);
      });
      expect(await failureOf(outboxWith().messages.send(MAIL, { signal: controller.signal }))).toBe(reason);
      expect(server.asked).toHaveLength(1);
    }
  });

  test('does not follow a redirect with its key', async () => {
    server.script(json(307, {}, { location: `${server.url}/elsewhere` }));
    expect(await failureOf(outboxWith().messages.send(MAIL))).toMatchObject({ status: 307, code: 'unknown' });
    expect(server.asked).toHaveLength(1);
  });

  test.each([
    [
      new TypeError('fetch failed', { cause: Object.assign(new AggregateError([]), { code: 'ENOTFOUND' }) }),
      ': ENOTFOUND',
    ],
    [new TypeError('Failed to fetch'), ': Failed to fetch'],
    ['a text', ''],
    [undefined, ''],
  ])('that fails by %s names the cause, as far as it is known', async (cause, reason) => {
    const fetch = () => Promise.reject(cause);
    const error = await failureOf(outboxWith({ fetch, maxRetries: 0 }).messages.send(MAIL));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toBe(`no complete response from ${server.url}${reason}`);
  });

  test('to a server that is gone says so', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    const error = await failureOf(outboxWith({ baseUrl, maxRetries: 1 }).messages.send(MAIL));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toBe(`no complete response from ${baseUrl}: connect ECONNREFUSED ${new URL(baseUrl).host}`);
    expect(error.cause).toBeDefined();
  });
});

describe('a change that is not safe to repeat', () => {
  const createTopic = (outbox: Outbox) => outbox.topics.create({ name: 'News', default: 'in' });
  test.each([
    ['500', refusal(500, 'internal_error')],
    ['502', proxy(502)],
    ['503', refusal(503, 'unavailable', { retry_after: 1 })],
    ['504', proxy(504)],
    ['a reset connection', reset],
  ])('is not retried after %s: it may have happened', async (_, script) => {
    server.script(script);
    await failureOf(createTopic(outboxWith()));
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0]?.headers['idempotency-key']).toBeUndefined();
  });

  test('is retried after 429: it has not happened', async () => {
    server.script(refusal(429, 'rate_limit_exceeded', { retry_after: 0 }), json(201, { id: 'top_1' }));
    await createTopic(outboxWith());
    expect(server.asked).toHaveLength(2);
  });
});

describe('a change that is safe to repeat', () => {
  const change = { name: 'Newer' };
  test.each([
    ['a PATCH', 'PATCH /v1/topics/top_1', (outbox: Outbox) => outbox.topics.update('top_1', change)],
    ['a DELETE', 'DELETE /v1/topics/top_1', (outbox: Outbox) => outbox.topics.delete('top_1')],
    ['a POST that only reads', 'POST /v1/messages/analyze', (outbox: Outbox) => outbox.messages.analyze(MAIL)],
    [
      'a POST of a version, which a second would find changed',
      'POST /v1/webhooks/whk_1/rotate-secret',
      (outbox: Outbox) => outbox.webhooks.rotateSecret('whk_1', {}, { ifMatch: '"7"' }),
    ],
  ])('is retried: %s', async (_, asked, change) => {
    server.script(proxy(502), reset, json(200, {}));
    await change(outboxWith());
    expect(server.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([asked, asked, asked]);
    expect(new Set(server.asked.map(({ headers, body }) => `${headers['if-match']} ${body}`)).size).toBe(1);
    for (const { headers } of server.asked) expect(headers['idempotency-key']).toBeUndefined();
  });
});

describe('the wait', () => {
  const answered = (status: number, retryAfter: number | null): ApiError =>
    new (status === 429 ? RateLimitError : ApiError)('x', {
      status,
      retryAfter,
      code: 'x',
      details: {},
      requestId: null,
    });

  test('for a rate limit lasts as long as stated, or 60 s by default', () => {
    expect(waitBefore(answered(429, 7), 1, true)).toBe(7_100);
    expect(waitBefore(answered(429, null), 1, true)).toBe(60_100);
    expect(waitBefore(answered(503, 3), 1, true)).toBe(3_100);
    expect(waitBefore(answered(503, null), 1, true)).toBe(100);
  });

  test('is never zero, doubles up to a maximum, and is spread over the whole range', () => {
    expect(backOff(1)).toBe(100);
    vi.spyOn(Math, 'random').mockReturnValue(1);
    expect([1, 2, 3, 4].map(backOff)).toEqual([600, 1_100, 2_100, 4_100]);
    expect(backOff(60)).toBe(20_100);
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    expect(backOff(1)).toBe(350);
  });

  test('interprets a date in Retry-After by the clock of the server', async () => {
    const date = new Date('2001-01-01T00:00:00Z').toUTCString();
    const later = new Date('2001-01-01T02:00:00Z').toUTCString();
    server.script(json(503, {}, { date, 'retry-after': later }));
    expect((await failureOf(outboxWith().messages.list())).retryAfter).toBe(7_200);
    for (const wrong of ['-1', '1e9', 'soon', '99999999999']) {
      server.script(json(400, {}, { 'retry-after': wrong }));
      expect((await failureOf(outboxWith().messages.list())).retryAfter).toBeNull();
    }
  });
});

describe('a deletion', () => {
  test.each([
    ['a 503', refusal(503, 'unavailable')],
    ['a lost response', reset],
  ])('that succeeded behind %s is no error when the next attempt finds nothing', async (_, first) => {
    server.script(first, refusal(404, 'not_found'));
    await expect(outboxWith().webhooks.delete('whk_x')).resolves.toBeUndefined();
    expect(server.asked).toHaveLength(2);
  });

  test.each([
    ['of nothing', [refusal(404, 'not_found')]],
    ['that was refused before', [refusal(429, 'rate_limit_exceeded', { retry_after: 0 }), refusal(404, 'not_found')]],
    ['that a proxy answers', [refusal(503, 'unavailable'), json(404, {})]],
  ])('%s is an error', async (_, scripts) => {
    server.script(...scripts);
    expect((await failureOf(outboxWith().webhooks.delete('whk_x'))).status).toBe(404);
  });

  test('is the only change whose missing resource is no error', async () => {
    server.script(refusal(503, 'unavailable'), refusal(404, 'not_found'));
    expect((await failureOf(outboxWith().webhooks.update('whk_x', {}))).status).toBe(404);
  });
});
