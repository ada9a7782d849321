import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createOutbox, ForbiddenError, OutboxError, type StreamedEvent } from '../../sdk/src/index.ts';
import { failureOf, refusal, type Script, type ScriptedServer, startScriptedServer } from './scripted-server.ts';

let server: ScriptedServer;
beforeEach(async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  server = await startScriptedServer();
});
afterEach(() => server.close());

const frame = (n: number, line = '\n'): string =>
  `id: c${n}${line}event: message.sent${line}data: {"n":${n}}${line}${line}`;

/** A stream that stays open after `text`. */
const open =
  (text: string): Script =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write(text);
const ended =
  (text: string): Script =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);

/** Reads up to the event with the cursor `last`. */
const readUntil = async (
  last: string,
  each = async (_cursor: string): Promise<void> => undefined,
  silenceMs = 1_000,
) => {
  const { events } = createOutbox({ baseUrl: server.url, apiKey: 'ob_test_x' });
  const seen: StreamedEvent[] = [];
  for await (const one of events.stream({ after: 'c0' }, { silenceMs })) {
    seen.push(one);
    await each(one.cursor);
    if (one.cursor === last) break;
  }
  return seen.map(({ cursor, event }) => [cursor, event]);
};

const urls = (): readonly string[] => server.asked.map(({ url }) => url);

describe('an event stream', () => {
  test('is read from chunks, and reconnects after silence, errors and its end', async () => {
    server.script(
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const text = `: hello\n\n${frame(1)}${frame(2, '\r\n')}: still here\nid: c3\n\n`;
        let at = 0;
        const timer = setInterval(() => {
          response.write(text.slice(at, at + 3));
          at += 3;
          if (at >= text.length) clearInterval(timer);
        }, 1);
      },
      refusal(503, 'unavailable'),
      ended(`event: end\ndata: {"reason":"drain"}\n\n`),
      (response) => void response.destroy(),
      open(frame(4)),
    );
    expect(await readUntil('c4')).toEqual([
      ['c1', { n: 1 }],
      ['c2', { n: 2 }],
      ['c4', { n: 4 }],
    ]);
    const again = '/v1/events?after=c3';
    expect(urls()).toEqual(['/v1/events?after=c0', again, again, again, again]);
    for (const { headers } of server.asked) expect(headers.accept).toBe('text/event-stream');
  });

  test('waits for its reader', async () => {
    server.script(open(frame(1) + frame(2)));
    const slowly = (cursor: string): Promise<void> => sleep(cursor === 'c1' ? 900 : 0);
    expect(await readUntil('c2', slowly, 600)).toHaveLength(2);
    expect(urls()).toEqual(['/v1/events?after=c0']);
  });

  test('reconnects when the response is not an event stream', async () => {
    server.script(
      (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
      open(frame(1)),
    );
    expect(await readUntil('c1')).toHaveLength(1);
    expect(urls()).toHaveLength(2);
  });

  test('is cut off when a frame has no end', async () => {
    server.script(open(`data: ${'x'.repeat(5_000_000)}`), open(frame(1)));
    expect(await readUntil('c1', undefined, 10_000)).toHaveLength(1);
    expect(urls()).toHaveLength(2);
  });

  test('ends when a retry does not help', async () => {
    server.script(refusal(403, 'permission_missing'));
    expect(await failureOf(readUntil('c1'))).toBeInstanceOf(ForbiddenError);
    server.script(open('id: c1\ndata: {"n":\n\n'));
    const error = await failureOf(readUntil('c1'));
    expect([error instanceof OutboxError, error.message]).toEqual([
      true,
      'the event stream sent an event that is not JSON',
    ]);
    expect(server.asked).toHaveLength(1);
  });

  test.each([
    ['while it is open', open(': hello\n\n')],
    ['while it waits to connect', refusal(429, 'rate_limit_exceeded', { retry_after: 30 })],
    ['while no answer comes', (): void => undefined],
  ])('ends with its signal %s', async (_, script) => {
    const controller = new AbortController();
    const { signal } = controller;
    server.script((response, asked) => {
      script(response, asked);
      setTimeout(() => controller.abort(new Error('enough')), 20);
    });
    const { events } = createOutbox({ baseUrl: server.url, apiKey: 'ob_test_x' });
    expect((await failureOf(events.stream({ after: 'c0' }, { signal }).next())).message).toBe('enough');
    expect(server.asked).toHaveLength(1);
  });
});
