import { describe, expect, test } from 'vitest';
import { sendCommand } from '../../../src/cli/customer/messages.ts';
import { clientOf, outbox, startDouble, testTerminal } from './customer.ts';

/** Answers with these statuses in turn, and then with 200. */
const answering = async (statuses: readonly number[], error: object = {}) => {
  const seen: { readonly at: number; readonly idempotencyKey: unknown; readonly key: unknown }[] = [];
  const url = await startDouble((request, response) => {
    const status = statuses[seen.length] ?? 200;
    seen.push({
      at: performance.now(),
      idempotencyKey: request.headers['idempotency-key'],
      key: request.headers.authorization,
    });
    response.statusCode = status;
    response.end(status === 200 ? '{"id":"msg_x","status":"accepted"}' : JSON.stringify({ error }));
  });
  return { url, seen };
};

describe('a request from the command line', () => {
  test.each([500, 502, 503, 504])('is retried after %i, and never at once', async (status) => {
    const { url, seen } = await answering([status]);
    await clientOf(url, 'ob_live_x').ask('GET', '/v1/messages');
    const [first, second] = seen;
    expect(seen).toHaveLength(2);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(95);
  });

  test.each([400, 401, 403, 404, 409, 422])('is not retried after %i', async (status) => {
    const { url, seen } = await answering([status], { message: 'no', code: 'x' });
    await expect(clientOf(url, 'ob_live_x').ask('GET', '/v1/messages')).rejects.toMatchObject({ status });
    expect(seen).toHaveLength(1);
  });

  test('waits as long as a rate limit says', async () => {
    const { url, seen } = await answering([429], { message: 'slow down', code: 'rate_limit_exceeded', retry_after: 1 });
    const terminal = testTerminal();
    await clientOf(url, 'ob_live_x', terminal).ask('POST', '/v1/api-keys', { body: {} });
    expect((seen[1]?.at ?? 0) - (seen[0]?.at ?? 0)).toBeGreaterThan(1_000);
  });

  test('does not wait for a rate limit of an hour', async () => {
    const { url, seen } = await answering([429], { message: 'no', code: 'rate_limit_exceeded', retry_after: 3_600 });
    await expect(clientOf(url, 'ob_live_x').ask('GET', '/v1/messages')).rejects.toMatchObject({ exitCode: 5 });
    expect(seen).toHaveLength(1);
  });

  test('is not repeated if it may have been carried out, unless it is a send with an idempotency key', async () => {
    const first = await answering([500], { message: 'no', code: 'x' });
    await expect(clientOf(first.url, 'ob_live_x').ask('POST', '/v1/api-keys', { body: {} })).rejects.toThrow('no');
    expect(first.seen).toHaveLength(1);
    const second = await answering([500, 502]);
    const terminal = testTerminal();
    await sendCommand.run(clientOf(second.url, 'ob_live_x'), { values: {}, positionals: [] }, terminal);
    expect(second.seen).toHaveLength(3);
    expect(new Set(second.seen.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(second.seen[0]?.idempotencyKey).toMatch(/^[\w-]{36}$/);
  });

  test('ends as soon as it is interrupted', async () => {
    const { url } = await answering([503, 503, 503, 503, 503], { message: 'no', code: 'x', retry_after: 60 });
    const terminal = testTerminal();
    const asking = clientOf(url, 'ob_live_x', terminal).ask('GET', '/v1/messages');
    setTimeout(terminal.end, 200);
    await expect(asking).rejects.toThrow('ended by the test');
  });

  test('follows no redirect, which would carry the key elsewhere', async () => {
    const elsewhere = await answering([]);
    const url = await startDouble((_, response) => {
      response.writeHead(307, { location: `${elsewhere.url}/v1/messages` });
      response.end();
    });
    await expect(clientOf(url, 'ob_live_x').ask('GET', '/v1/messages')).rejects.toThrow('redirects to');
    expect(elsewhere.seen).toEqual([]);
  });
});

describe('exit codes', () => {
  test('distinguish an unreachable service from a server that is not Outbox', async () => {
    const closed = { OUTBOX_URL: 'http://127.0.0.1:1', OUTBOX_API_KEY: 'ob_live_x' };
    expect(await outbox(['keys', 'rotate', 'key_x'], { env: closed })).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/^no complete response from http:\/\/127\.0\.0\.1:1: /),
    });
    const url = await startDouble((_, response) => response.setHeader('content-type', 'text/html').end('<html>'));
    expect(await outbox(['messages', 'list'], { env: { ...closed, OUTBOX_URL: url } })).toMatchObject({
      code: 1,
      stderr: `the response from ${url} is not from Outbox: check the URL\n`,
    });
  });

  test('distinguish an interrupted command from a tail, which ends normally', async () => {
    const event = { id: 'evt_x', type: 'domain.verified', timestamp: '2031-01-01T00:00:00.000Z', data: {} };
    let ask: (() => void) | undefined;
    const url = await startDouble((request, response) => {
      if (request.headers.accept === 'text/event-stream') {
        response.setHeader('content-type', 'text/event-stream').write(`id: c1\ndata: ${JSON.stringify(event)}\n\n`);
      } else if (request.url === '/v1/events?limit=1') response.end('{"data":[],"next_cursor":"c0"}');
      else ask?.();
    });
    const env = { OUTBOX_URL: url, OUTBOX_API_KEY: 'ob_live_x' };
    const tail = await outbox(['events', 'tail'], { env, onOutput: (_, child) => void child.kill('SIGINT') });
    expect(tail).toEqual({
      code: 0,
      stdout: '2031-01-01T00:00:00.000Z  domain.verified     evt_x\n',
      stderr: 'to continue from here: --after c1\n',
    });
    const listing = await outbox(['messages', 'list'], {
      env,
      onStart: (child) => {
        ask = () => void child.kill('SIGINT');
      },
    });
    expect(listing).toEqual({ code: 130, stdout: '', stderr: 'interrupted\n' });
  });
});
