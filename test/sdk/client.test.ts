import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import packageJson from '../../sdk/package.json' with { type: 'json' };
import {
  type ApiError,
  type Attempt,
  type Configuration,
  ConnectionError,
  createOutbox,
  InvalidRequestError,
  type Outbox,
  OutboxError,
} from '../../sdk/src/index.ts';
import { failureOf, json, refusal, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));

const outboxWith = (more: Partial<Configuration> = {}): Outbox =>
  createOutbox({ apiKey: 'ob_test_x', baseUrl: server.url, timeoutMs: 5_000, ...more });

const MAIL = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x' };
const ok = json(202, { id: 'msg_1', object: 'message' }, { 'x-request-id': 'req_1' });

test('options that are undefined, such as an unset variable, have their default', async () => {
  vi.stubEnv('OUTBOX_API_KEY', 'ob_test_x');
  vi.stubEnv('OUTBOX_URL', server.url);
  server.script(ok);
  const unset: string | undefined = process.env.OUTBOX_NO_SUCH_VARIABLE;
  const { messages } = createOutbox({ apiKey: unset, baseUrl: unset, timeoutMs: undefined, fetch: undefined });
  expect(await messages.send(MAIL)).toMatchObject({ id: 'msg_1' });
  vi.unstubAllEnvs();
});

describe('a mistake found before anything is sent', () => {
  test.each([
    [{ apiKey: '' }, 'apiKey is required: pass it, or set OUTBOX_API_KEY'],
    [{ apiKey: 'sk_1' }, 'apiKey must begin with ob_'],
    [{ apiKey: 'ob_live_se\r\ncret' }, 'apiKey must begin with ob_ and have no spaces'],
    [{ apiKey: 'ob_live_secrét' }, 'apiKey must begin with ob_ and have no spaces'],
    [{ baseUrl: '' }, 'baseUrl is required: pass it, or set OUTBOX_URL'],
    [{ baseUrl: 'mail.example' }, 'baseUrl must begin with https:// or http://'],
    [{ baseUrl: 'ftp://mail.example' }, 'baseUrl must begin with https:// or http://'],
    [{ baseUrl: 'https://a:b@mail.example' }, 'baseUrl must have no credentials'],
    [{ baseUrl: 'https://mail.example/?a=1' }, 'baseUrl must have no credentials, query or fragment'],
    [{ baseUrl: 'https://mail.example/v1/' }, 'baseUrl must not end with /v1'],
    [{ maxRetries: -1 }, 'maxRetries must be a number from 0 to 100'],
    [{ maxRetries: Number.POSITIVE_INFINITY }, 'maxRetries must be a number from 0 to 100'],
    [{ maxRetries: Number.NaN }, 'maxRetries must be a number'],
    [{ timeoutMs: 0 }, 'timeoutMs must be a number from 1'],
    [{ timeoutMs: '30s' as never }, 'timeoutMs must be a number'],
    [{ totalTimeoutMs: Number.POSITIVE_INFINITY }, 'totalTimeoutMs must be a number from 1 to 2147483647'],
  ])('is named: %j', (given, words) => {
    expect(() => outboxWith(given)).toThrow(TypeError);
    expect(() => outboxWith(given)).toThrow(words);
    // Error messages may be logged, so they must not contain the key.
    expect(() => outboxWith(given)).not.toThrow(/secr/);
  });

  test.each(['', 'a\nb', 'grüße', 'x'.repeat(256)])('is named: idempotencyKey %j', async (idempotencyKey) => {
    server.script(ok);
    const error = await failureOf(outboxWith().messages.send(MAIL, { idempotencyKey }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain('idempotencyKey must be 1 to 255 printable ASCII characters');
    expect(server.asked).toHaveLength(0);
  });

  test('is named: an invalid id, a limit for a single call', async () => {
    server.script(ok);
    for (const id of ['', '.', '..', undefined as never]) {
      expect(() => outboxWith().messages.get(id)).toThrow(`not a valid id: '${id}'`);
    }
    expect(await failureOf(outboxWith().messages.list({}, { maxRetries: 1e9 }))).toBeInstanceOf(TypeError);
    expect(server.asked).toHaveLength(0);
    await outboxWith().templates.delete('a/../b?c');
    expect(server.asked.map(({ url }) => url)).toEqual(['/v1/templates/a%2F..%2Fb%3Fc']);
  });

  test('is not reported if the key and the URL come from the environment', async () => {
    vi.stubEnv('OUTBOX_API_KEY', ' ob_test_env\n');
    vi.stubEnv('OUTBOX_URL', `${server.url}/behind/a/proxy/`);
    server.script(ok);
    await createOutbox().messages.send(MAIL);
    expect(server.asked[0]).toMatchObject({
      url: '/behind/a/proxy/v1/messages/send',
      headers: { authorization: 'Bearer ob_test_env' },
    });
    vi.unstubAllEnvs();
  });
});

describe('a request', () => {
  test('names the client, in the published version', async () => {
    server.script(ok);
    await outboxWith().messages.list({ limit: 3, to: undefined, tag: 'a b:c&d' });
    expect(server.asked[0]).toMatchObject({
      method: 'GET',
      url: '/v1/messages?limit=3&tag=a+b%3Ac%26d',
      headers: { 'user-agent': `outbox-sdk/${packageJson.version}`, accept: 'application/json' },
      body: '',
    });
    expect(server.asked[0]?.headers['content-type']).toBeUndefined();
  });

  test('uses the given fetch, called without a receiver', async () => {
    let self: unknown = 'not called';
    const given: typeof fetch = function (this: unknown, ...parameters) {
      self = this;
      return fetch(...parameters);
    };
    server.script(ok);
    await outboxWith({ fetch: given }).messages.send(MAIL);
    expect(self).toBeUndefined();
    expect(server.asked).toHaveLength(1);
  });

  test('accepts a fetch whose bodies are not web streams', async () => {
    const body = '{"error":{"message":"no such message","code":"message_not_found"}}';
    const other = { ok: false, status: 404, headers: new Headers(), body: { pipe: true }, text: async () => body };
    const given = (async () => other) as unknown as typeof fetch;
    const error = await failureOf(outboxWith({ fetch: given }).messages.get('msg_1'));
    expect(error).toMatchObject({ status: 404, code: 'message_not_found', message: 'no such message' });
  });

  test('leaves no listener on a signal that outlives it', async () => {
    const { signal } = new AbortController();
    server.script(ok, refusal(503, 'unavailable'), ok, refusal(400, 'invalid_request'));
    const outbox = outboxWith();
    await outbox.messages.send(MAIL, { signal });
    await outbox.messages.send(MAIL, { signal });
    await failureOf(outbox.messages.send(MAIL, { signal }));
    await failureOf(outboxWith({ baseUrl: 'http://127.0.0.1:1' }).messages.send(MAIL, { signal, maxRetries: 1 }));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('still ends with its signal when its response is read later', async () => {
    server.script((response) => void response.writeHead(200, { 'content-type': 'text/csv' }).write('a,b\n'));
    const controller = new AbortController();
    const { signal } = controller;
    const answer = await outboxWith({ timeoutMs: 100 }).request({ method: 'GET', path: '/v1/export' }, { signal });
    // The time-out has passed. It does not apply to reading the body later.
    await new Promise((resolve) => setTimeout(resolve, 150));
    const reading = failureOf(answer.text());
    controller.abort(new Error('enough'));
    expect((await reading).message).toBe('enough');
    expect(server.asked[0]?.headers.accept).toBe('*/*');
  });
});

describe('the hook', () => {
  test('is called for each attempt, without key, query or body', async () => {
    const told: Attempt[] = [];
    server.script(refusal(503, 'unavailable', { retry_after: 0.05 }), (response) => void response.destroy(), ok);
    await outboxWith({ onAttempt: (attempt) => told.push(attempt) }).messages.send(MAIL);
    const send = { method: 'POST', path: '/v1/messages/send', durationMs: expect.any(Number) };
    expect(told).toEqual([
      { ...send, tried: 1, status: 503, requestId: 'req_503', error: expect.any(OutboxError), retryInMs: 150 },
      { ...send, tried: 2, status: null, requestId: null, error: expect.any(ConnectionError), retryInMs: 100 },
      { ...send, tried: 3, status: 202, requestId: 'req_1', error: null, retryInMs: null },
    ]);
    expect(JSON.stringify(told)).not.toMatch(/ob_test_x|example/);
  });

  test('is called for the last attempt too, and may fail', async () => {
    const told: Attempt[] = [];
    const failing: Configuration['onAttempt'] = async (attempt) => {
      told.push(attempt);
      throw new Error('the logger is broken');
    };
    server.script(refusal(404, 'not_found'));
    expect(await failureOf(outboxWith({ onAttempt: failing }).messages.get('msg_1'))).toMatchObject({ status: 404 });
    expect(told).toMatchObject([{ path: '/v1/messages/msg_1', tried: 1, status: 404, retryInMs: null }]);
    server.script(ok);
    const throwing = (): never => {
      throw new Error('the logger is broken');
    };
    expect(await outboxWith({ onAttempt: throwing }).messages.send(MAIL)).toMatchObject({ id: 'msg_1' });
  });
});

describe('errors', () => {
  test('that do not come from the service name the status', async () => {
    for (const body of [
      [],
      7,
      null,
      { error: 'no' },
      { error: { message: 7, code: {}, details: 'x', retry_after: -1 } },
    ]) {
      server.script(json(400, body));
      const error = await failureOf(outboxWith().messages.send(MAIL));
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(error).toMatchObject({ code: 'unknown', details: {}, retryAfter: null, requestId: null });
      expect(error.message).toContain('400');
    }
  });

  test('name the request even if the response was incomplete', async () => {
    server.script((response) => {
      response.writeHead(202, { 'content-length': '100', 'x-request-id': 'req_half' }).write('{"id":');
      setTimeout(() => response.destroy(), 10);
    });
    const error = await failureOf(outboxWith({ maxRetries: 0 }).messages.send(MAIL));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.requestId).toBe('req_half');
  });

  test('are read up to a limit, however much is sent', async () => {
    server.script((response) => {
      response.writeHead(404, { 'content-type': 'text/html' });
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(100_000)));
      };
      response.on('drain', write);
      write();
    });
    const error = await failureOf(outboxWith().messages.send(MAIL));
    expect(error).toMatchObject({ status: 404, code: 'unknown' } satisfies Partial<ApiError>);
    expect(server.asked).toHaveLength(1);
  });

  test('for a redirect name its target', async () => {
    server.script(json(308, {}, { location: 'https://mail.example/v1' }));
    const { message } = await failureOf(outboxWith().messages.send(MAIL));
    expect(message).toBe(
      'the response has status 308 and redirects to https://mail.example/v1, which is not followed: check baseUrl',
    );
  });
});
