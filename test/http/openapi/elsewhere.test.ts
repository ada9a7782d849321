import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnswerCheck, answerCheck } from '../../support/openapi/answer-check.ts';
import { operationsOf, readOpenApi } from '../../support/openapi/document.ts';
import { type Service, startService } from '../support/service.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE'];

let service: Service;
let key: string;
let port: number;
let check: AnswerCheck;
let paths: Readonly<Record<string, object>>;

beforeAll(async () => {
  // These tests check responses against the document themselves.
  service = await startService({}, () => undefined);
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  port = Number(new URL(await service.server.listen({ port: 0, host: '127.0.0.1' })).port);
  const document = readOpenApi((await service.request({ url: '/openapi.json' })).json());
  check = answerCheck(document);
  paths = document.paths;
  expect(operationsOf(document).length).toBeGreaterThan(20);
});
afterAll(() => service.close());

interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends raw bytes and reads until the other side closes. */
const speak = (bytes: string): Promise<Exchange> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('close', () => {
      const [head = '', text = ''] = answer.split('\r\n\r\n');
      const [line = '', ...lines] = head.split('\r\n');
      const headers = lines.map((one) => [one.slice(0, one.indexOf(':')), one.slice(one.indexOf(':') + 2)]);
      resolve({ status: Number(line.split(' ')[1]), headers: new Headers(headers as [string, string][]), text });
    });
    socket.on('error', reject);
  });

/** @param first request line. */
const ask = (first: string, lines: readonly string[] = [], body = ''): Promise<Exchange> =>
  speak([first, 'Host: x', `Authorization: Bearer ${key}`, 'Connection: close', ...lines, '', body].join('\r\n'));

/** `/v1/messages/send` is not an id, whatever the method. */
const methodsOf = (path: string): readonly string[] =>
  Object.entries(paths)
    .filter(([template]) =>
      path in paths ? template === path : new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    )
    .flatMap(([, operations]) => Object.keys(operations).map((method) => method.toUpperCase()));

const codeOf = ({ text }: Exchange): string => JSON.parse(text).error.code;

describe('a path without an operation', () => {
  test.each([
    ['an unknown path', 'GET /nothing HTTP/1.1', 404, 'not_found'],
    ['an unknown path under /v1', 'GET /v1/nothing HTTP/1.1', 404, 'not_found'],
    ['a path that is nearly one', 'GET /v1/messages/x/y/z HTTP/1.1', 404, 'not_found'],
    ['a path that cannot be decoded', 'GET /v1/messages/%zz HTTP/1.1', 400, 'invalid_request'],
    ['a path that is no UTF-8', 'GET /v1/messages/%ff HTTP/1.1', 400, 'invalid_request'],
    ['an address with a host', 'GET http://x/nothing HTTP/1.1', 404, 'not_found'],
  ])('%s is answered as the document says', async (_what, line, status, code) => {
    const answer = await ask(line);
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
    const [method = '', path = ''] = line.split(' ');
    expect(check({ method, path, ...answer })).toEqual([]);
  });

  test('every path refuses the methods it does not accept, and names those it accepts', async () => {
    for (const template of Object.keys(paths)) {
      const path = template.replaceAll(/\{\w+\}/g, 'x');
      const taken = methodsOf(path);
      for (const method of METHODS.filter((one) => !taken.includes(one))) {
        const answer = await ask(`${method} ${path} HTTP/1.1`);
        expect([answer.status, codeOf(answer)], `${method} ${path}`).toEqual([405, 'method_not_allowed']);
        expect((answer.headers.get('allow') ?? '').split(', ').sort()).toEqual([...new Set(taken)].sort());
        expect(check({ method, path, ...answer })).toEqual([]);
      }
    }
  });

  test('a request for another protocol is answered as usual, on a connection that ends', async () => {
    const lines = ['Upgrade: websocket', 'Connection: Upgrade', 'Content-Type: application/json', 'Content-Length: 2'];
    const head = ['POST /v1/domains HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`, ...lines, '', '{}'];
    const answer = await speak(head.join('\r\n'));
    expect([answer.status, codeOf(answer), answer.headers.get('connection')]).toEqual([
      400,
      'invalid_request',
      'close',
    ]);
  });

  test('ignores a body that no handler reads', async () => {
    const answer = await ask('POST /v1/nothing HTTP/1.1', ['Content-Type: text/plain', 'Content-Length: 3'], 'x=1');
    expect([answer.status, codeOf(answer)]).toEqual([404, 'not_found']);
  });
});

describe('requests that Fastify and Node refuse on their own', () => {
  const BODY = ['Content-Type: application/json', 'Content-Length: 1'];
  test.each([
    ['a body that is no JSON', () => ask('POST /v1/domains HTTP/1.1', BODY, '{'), 400, 'invalid_json'],
    [
      'a body of another type',
      () => ask('POST /v1/domains HTTP/1.1', ['Content-Type: x', 'Content-Length: 1'], '{'),
      415,
      'unsupported_media_type',
    ],
    [
      'a body without a type',
      () => ask('POST /v1/domains HTTP/1.1', ['Content-Length: 1'], '{'),
      415,
      'unsupported_media_type',
    ],
    [
      'a body that is announced too large',
      () => ask('POST /v1/domains HTTP/1.1', ['Content-Type: application/json', 'Content-Length: 99999999']),
      413,
      'body_too_large',
    ],
    [
      'two lengths',
      () => ask('POST /v1/domains HTTP/1.1', [...BODY, 'Content-Length: 2'], '{'),
      400,
      'invalid_request',
    ],
    [
      'a length that is no number',
      () => ask('POST /v1/domains HTTP/1.1', ['Content-Length: x']),
      400,
      'invalid_request',
    ],
    [
      'an invalid chunk',
      () => ask('POST /v1/domains HTTP/1.1', ['Transfer-Encoding: chunked'], 'zz\r\n'),
      400,
      'invalid_request',
    ],
    ['a header with NUL', () => ask('GET /livez HTTP/1.1', ['X: a\0b']), 400, 'invalid_request'],
    ['a header without a name', () => ask('GET /livez HTTP/1.1', [': x']), 400, 'invalid_request'],
    [
      'headers that are too large',
      () => ask('GET /livez HTTP/1.1', [`X: ${'y'.repeat(40_000)}`]),
      431,
      'invalid_request',
    ],
    ['an address that is too long', () => ask(`GET /livez?${'y'.repeat(40_000)} HTTP/1.1`), 431, 'invalid_request'],
    ['an unknown method', () => ask('MAKE /livez HTTP/1.1'), 400, 'invalid_request'],
    ['another protocol', () => speak('EHLO example.org\r\n\r\n'), 400, 'invalid_request'],
    ['another version', () => ask('GET /livez HTTP/9.9'), 400, 'invalid_request'],
    ['a request without Host', () => speak('GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n'), 400, 'invalid_request'],
    ['a tunnel', () => ask('CONNECT mail.example.org:25 HTTP/1.1'), 405, 'method_not_allowed'],
    ['a greeting by TLS', () => speak('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'), 400, 'invalid_request'],
  ] as const)('%s has the shape of all errors', async (_what, provoke, status, code) => {
    const answer = await provoke();
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
    expect(Object.keys(JSON.parse(answer.text))).toEqual(['error']);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  });

  test('ignores an unknown expectation', async () => {
    expect((await ask('GET /livez HTTP/1.1', ['Expect: a miracle'])).status).toBe(200);
  });

  test('HTTP/1.0 without Host is answered', async () => {
    expect((await speak('GET /livez HTTP/1.0\r\n\r\n')).status).toBe(200);
  });
});
