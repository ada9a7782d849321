import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createOutbox, RateLimitError, ServerError } from '../../sdk/src/index.ts';
import { failureOf, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

/** The specification's client rules (§7), status by status. */

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());

/**
 * Statuses that fetch handles itself (WHATWG Fetch, HTTP-network-or-cache fetch): it returns no response for 407, and
 * repeats a request after 421 on a new connection. The service sends neither.
 */
const OF_FETCH = [407, 421];
const TRANSIENT = [429, 500, 502, 503, 504];
const MAIL = { from: 'a@example.test', to: 'b@example.org', subject: 'x', text: 'x' };

test('every status from 300 to 599 ends a request at once, except five that are retried as often as allowed', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const outbox = createOutbox({ apiKey: 'ob_test_x', baseUrl: server.url, maxRetries: 1 });
  const repeated: number[] = [];
  for (let status = 300; status < 600; status++) {
    if (OF_FETCH.includes(status)) continue;
    server.script((response) => void response.writeHead(status, { 'retry-after': '0' }).end());
    const error = await failureOf(outbox.messages.send(MAIL));
    expect(error).toMatchObject({ status, code: 'unknown' });
    if (server.asked.length > 1) repeated.push(status);
    expect(server.asked.length).toBeLessThan(3);
    expect(error instanceof ServerError).toBe(status >= 500);
  }
  expect(repeated).toEqual(TRANSIENT);
});

describe('over time', () => {
  /** Time of each request, in milliseconds since the first. */
  const timesOf = async (answers: readonly Response[]): Promise<{ times: readonly number[]; ended: unknown }> => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const began = performance.now();
    const times: number[] = [];
    const left = [...answers];
    const fetch = async (): Promise<Response> => {
      times.push(performance.now() - began);
      return left.shift() ?? new Response('{}', { status: 202 });
    };
    const outbox = createOutbox({ apiKey: 'ob_test_x', baseUrl: 'https://mail.example', fetch });
    const ended = outbox.messages.send(MAIL).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(200_000);
    vi.useRealTimers();
    return { times, ended: await ended };
  };

  test('a 429 without a stated wait is retried after 60 s and jitter', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    expect((await timesOf([new Response('', { status: 429 })])).times).toEqual([0, 60_350]);
  });

  test('the body of a 429 states the wait, with precedence over its header', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const body = JSON.stringify({ error: { message: 'x', code: 'rate_limit_exceeded', retry_after: 7 } });
    const limited = new Response(body, { status: 429, headers: { 'retry-after': '9' } });
    expect((await timesOf([limited])).times).toEqual([0, 7_100]);
    const byHeader = new Response('', { status: 429, headers: { 'retry-after': '9' } });
    expect((await timesOf([byHeader])).times).toEqual([0, 9_100]);
  });

  test('other errors are retried after up to twice the previous wait, four times', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1);
    const failing = Array.from({ length: 9 }, () => new Response('', { status: 500 }));
    const { times, ended } = await timesOf(failing);
    expect(times).toEqual([0, 600, 1_700, 3_800, 7_900]);
    expect(ended).toBeInstanceOf(ServerError);
  });

  test('all attempts together end in time: no wait starts that would exceed it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const limited = Array.from({ length: 9 }, () => new Response('', { status: 429 }));
    const { times, ended } = await timesOf(limited);
    expect(times).toEqual([0, 60_100, 120_200]);
    expect(ended).toBeInstanceOf(RateLimitError);
  });

  test.each(['1e999', `${2 ** 31}`, '999999999'])('a 429 of %s s is returned at once', async (seconds) => {
    const body = `{"error":{"message":"x","code":"rate_limit_exceeded","retry_after":${seconds}}}`;
    const { times, ended } = await timesOf([new Response(body, { status: 429 })]);
    if (seconds === '1e999') expect(times).toEqual([0, expect.closeTo(60_350, -3)]);
    else expect([times, ended]).toEqual([[0], expect.any(RateLimitError)]);
  });
});
