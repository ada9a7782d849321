import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BODY_LIMITS, createBodyBudget } from '../../../src/lib/http/body-budget.ts';
import { type Service, startService } from '../support/service.ts';

const PATIENCE_MS = 500;

const bodies = createBodyBudget({ ...BODY_LIMITS, patienceMs: PATIENCE_MS });

let service: Service;
let key: string;
let port: number;
let base: string;

beforeAll(async () => {
  service = await startService({ bodies });
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  base = await service.server.listen({ port: 0, host: '127.0.0.1' });
  port = Number(new URL(base).port);
});
afterAll(() => service.close());

const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };

const post = (path: string, body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}) =>
  fetch(`${base}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body,
  });

const refusalOf = async (answer: Response): Promise<[number, string]> => {
  const { error } = (await answer.json()) as { error: { code: string } };
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  return [answer.status, error.code];
};

/** Sends raw bytes and waits for the first response's status line and body. */
const speak = (text: string | Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      if (/\r\n\r\n.+/s.test(answer)) socket.destroy();
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });

const head = (lines: readonly string[]): string =>
  `POST /v1/messages/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${lines.join('\r\n')}\r\n\r\n`;

describe('a body', () => {
  test.each([
    ['that is not JSON', '{"from": ', 'invalid_json'],
    ['that is not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'invalid_json'],
    ['that names __proto__', '{"__proto__": {"admin": true}}', 'invalid_json'],
    ['that is an array', '[]', 'invalid_request'],
    ['that is null', 'null', 'invalid_request'],
    ['nested 100,000 deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'invalid_request'],
    ['nested deep in a field', `{"metadata":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`, 'invalid_request'],
    ['with constructor and prototype', '{"constructor": {"prototype": {"x": 1}}}', 'invalid_request'],
  ])('%s is 400', async (_what, body, code) => {
    expect(await refusalOf(await post('/v1/messages/send', body))).toEqual([400, code]);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test.each([
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['packed', { 'content-encoding': 'gzip' }],
  ])('that is %s is 415', async (_what, headers) => {
    expect(
      await refusalOf(await post('/v1/messages/send', '{}', headers as unknown as Record<string, string>)),
    ).toEqual([415, 'unsupported_media_type']);
  });

  test('of 30 MB is answered 413 to a client that writes all of it, on a connection that stays open', async () => {
    const before = process.memoryUsage().rss;
    const large = JSON.stringify({ ...VALID, html: 'x'.repeat(30_000_000) });
    expect(await refusalOf(await post('/v1/messages/send', large))).toEqual([413, 'body_too_large']);
    expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000);
    expect((await post('/v1/messages/send', JSON.stringify(VALID))).status).toBe(202);
  });

  test('announced as 30 MB is answered before any of it has arrived', async () => {
    const answer = await speak(head(['Content-Type: application/json', 'Content-Length: 30000000']));
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('without an announced length is cut off at the limit', async () => {
    const chunk = `${(1_000_000).toString(16)}\r\n${'x'.repeat(1_000_000)}\r\n`;
    const answer = await speak(
      head(['Content-Type: application/json', 'Transfer-Encoding: chunked']) + chunk.repeat(30),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('of a small endpoint must be small', async () => {
    expect(await refusalOf(await post('/v1/domains', JSON.stringify({ name: 'x'.repeat(70_000) })))).toEqual([
      413,
      'body_too_large',
    ]);
  });

  test('whose attachments are too large when encoded is 413', async () => {
    const content = Buffer.alloc(18_600_000).toString('base64');
    const body = JSON.stringify({ ...VALID, attachments: [{ filename: 'a', content }] });
    expect(await refusalOf(await post('/v1/messages/send', body))).toEqual([413, 'body_too_large']);
  });

  test('finds no room while others in flight hold it, and finds it again when they are gone', async () => {
    const part = Buffer.from('{"attachments":[{"content":"'.padEnd(26_000_000, 'A'));
    const lines = ['Content-Type: application/json', `Content-Length: ${part.length + 1}`];
    const holders = Array.from({ length: 4 }, () => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(head(lines));
        socket.write(part);
      });
      socket.on('error', () => undefined);
      return socket;
    });
    await Promise.all(holders.map((socket) => new Promise((resolve) => socket.once('drain', resolve))));
    const large = JSON.stringify({ ...VALID, attachments: [{ content: 'A'.repeat(25_500_000) }] });
    const answer = async (): Promise<readonly unknown[]> => {
      const refused = await post('/v1/messages/send', large);
      return [refused.headers.get('retry-after'), ...(await refusalOf(refused))];
    };
    await expect.poll(answer, { timeout: 20_000 }).toEqual(['5', 503, 'unavailable']);
    for (const socket of holders) socket.destroy();
    await expect.poll(answer, { timeout: 20_000 }).toEqual([null, 400, 'invalid_request']);
  });
});

describe('a body that arrives', () => {
  const BODY = JSON.stringify(VALID);
  // A function, because the key is created before the tests.
  const whole = (): string => head(['Content-Type: application/json', `Content-Length: ${BODY.length}`]) + BODY;

  /** Sends chunks one after another on one connection. @returns status lines. */
  const statusesOf = async (pieces: readonly string[], answers: number): Promise<readonly string[]> => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    for (const piece of pieces) {
      socket.write(piece);
      await sleep(20);
    }
    const statuses = (): readonly string[] => text.match(/HTTP\/1\.1 \d{3}/g) ?? [];
    await expect.poll(() => statuses().length, { timeout: 10_000 }).toBe(answers);
    socket.destroy();
    return statuses();
  };

  test.each([
    ['with its head', () => [whole()]],
    ['after its head', () => [whole().slice(0, -BODY.length), BODY]],
    ['in two parts', () => [whole().slice(0, -20), BODY.slice(-20)]],
    ['with the next request', () => [whole() + whole()]],
    ['with the head of the next', () => [whole() + whole().slice(0, -BODY.length), BODY]],
  ])('%s is read, its connection stays open, and its memory is free again', async (_what, piecesOf) => {
    const pieces = [...piecesOf(), whole()];
    const requests = pieces.join('').split('POST ').length - 1;
    expect(await statusesOf(pieces, requests)).toEqual(Array.from({ length: requests }, () => 'HTTP/1.1 202'));
    await expect.poll(bodies.held).toBe(0);
  });

  test.each([
    ['too deep', '['.repeat(100)],
    ['not JSON', '{"from": '],
    ['cut off within a string', '{"from": "a'],
  ])('with its head and is %s is 400, on a connection that stays open', async (_what, broken) => {
    const refused =
      whole().slice(0, -BODY.length).replace(`Length: ${BODY.length}`, `Length: ${broken.length}`) + broken;
    expect(await statusesOf([refused, whole()], 2)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 202']);
    await expect.poll(bodies.held).toBe(0);
  });
});

describe('fields with far too many problems', () => {
  const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, index) => make(index));
  const keyed = (count: number) => Object.fromEntries(many(count, (index) => [`x-${index}`, '\0']));

  test.each([
    [
      'to',
      many(1_000, () => '@'),
      ['to must have at most 100 items', 'to, cc and bcc must have at most 50 addresses together'],
    ],
    ['to', many(100_000, () => '@'), ['to must have at most 1000 items']],
    ['headers', keyed(1_000), ['headers must have at most 50 keys']],
    ['headers', keyed(34_000), ['headers must have at most 1000 keys']],
    ['metadata', keyed(1_000), ['metadata must have at most 50 keys']],
    ['tags', many(1_000, () => ({ x: 1 })), ['tags must have at most 10 items']],
    ['attachments', many(900, () => ({ content_id: 'same' })), ['attachments must have at most 20 items']],
  ])('are reported for %s by their number only', async (field, value, sentences) => {
    const answer = await post('/v1/messages/send', JSON.stringify({ ...VALID, [field]: value }));
    const { error } = (await answer.json()) as { error: { details: unknown } };
    expect([answer.status, error.details]).toEqual([400, { [field]: sentences }]);
  });

  test('are reported in at most a hundred sentences of bounded length', async () => {
    const body = { ...VALID, ...Object.fromEntries(many(900, (index) => [`${index}${'k'.repeat(1_900)}`, 1])) };
    const answer = await post('/v1/messages/send', JSON.stringify(body));
    const text = await answer.text();
    expect([answer.status, Object.keys(JSON.parse(text).error.details).length]).toEqual([400, 100]);
    expect(text.length).toBeLessThan(40_000);
  });
});

describe('input that is not even a request', () => {
  test.each([
    ['garbage', 'EHLO example.org\r\n\r\n', 400],
    ['headers without end', `GET /livez HTTP/1.1\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
  ])('%s is answered in the common shape of errors', async (_what, text, status) => {
    const answer = await speak(text);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\nX-Request-Id: req_[0-9a-f]{32}\r\n/);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)).error.code).toBe('invalid_request');
  });

  test('a path that cannot be decoded is 400', async () => {
    const answer = await speak(`GET /v1/messages/%zz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('x-request-id: req_');
  });
});
