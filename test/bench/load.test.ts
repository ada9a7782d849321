import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server } from 'node:net';
import autocannon from 'autocannon';
import { afterEach, describe, expect, test } from 'vitest';
import { drive } from '../../bench/load/drive.ts';
import { createHistogram } from '../../bench/load/histogram.ts';
import { createResponseReader } from '../../bench/load/response-reader.ts';

const servers: Server[] = [];

const listen = async (server: Server): Promise<URL> => {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/things`);
};

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

const requestTo = (url: URL, body: string): Buffer =>
  Buffer.from(
    `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );

/** Answers 202 after a delay, and 429 to every tenth request. Counts the bodies. */
const counting = (ms: number) => {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const status = bodies.push(body) % 10 === 0 ? 429 : 202;
      const answer = 'ä'.repeat(200);
      const headers = { 'content-length': Buffer.byteLength(answer) };
      setTimeout(() => response.writeHead(status, headers).end(answer), ms);
    });
  });
  return { server, bodies };
};

describe('the load generator', () => {
  test('sends the requested number of whole requests in turn, and counts every status', async () => {
    const { server, bodies } = counting(0);
    const url = await listen(server);
    const requests = ['one', 'zwölf'].map((body) => requestTo(url, body));
    const { statuses } = await drive({ url, requests, connections: 7, extent: { amount: 200 } });
    expect(Object.fromEntries(statuses)).toEqual({ 202: 180, 429: 20 });
    expect(bodies.toSorted()).toEqual([...Array(100).fill('one'), ...Array(100).fill('zwölf')]);
  });

  test('counts the same as autocannon for the same server', async () => {
    const { server, bodies } = counting(0);
    const url = await listen(server);
    const theirs = await autocannon({ url: url.href, method: 'POST', body: 'x', connections: 8, amount: 500 });
    const seen = bodies.splice(0).length;
    const ours = await drive({ url, requests: [requestTo(url, 'x')], connections: 8, extent: { amount: 500 } });
    expect(bodies.length).toBe(seen);
    expect(ours.statuses.get(202)).toBe(theirs['2xx']);
    expect(ours.statuses.get(429)).toBe(theirs['4xx']);
  });

  test('ends after its time, once the last response has arrived', async () => {
    const { server, bodies } = counting(20);
    const url = await listen(server);
    const requests = [requestTo(url, 'x')];
    const driven = await drive({ url, requests, connections: 4, extent: { seconds: 0.3 } });
    const answers = driven.statuses.values().reduce((sum, count) => sum + count, 0);
    expect(answers).toBe(bodies.length);
    expect(driven.elapsedMs).toBeGreaterThan(250);
    expect(driven.times.quantile(0.5)).toBeGreaterThan(15);
  });

  test('keeps a rate, and measures from when a request was due even if no connection was free', async () => {
    const { server, bodies } = counting(50);
    const url = await listen(server);
    const load = { url, requests: [requestTo(url, 'x')], extent: { seconds: 0.5, perSecond: 100 } };
    const enough = await drive({ ...load, connections: 20 });
    expect(bodies.length).toBe(50);
    expect(enough.elapsedMs).toBeGreaterThan(450);
    expect(enough.times.quantile(0.5)).toBeGreaterThan(45);
    const tooFew = await drive({ ...load, connections: 1 });
    expect(bodies.length).toBe(100);
    expect(tooFew.times.quantile(0.5)).toBeGreaterThan(500);
  });

  test('fails when a connection is lost or a response cannot be parsed', async () => {
    const closing = await listen(createSocketServer((socket) => socket.once('data', () => socket.destroy())));
    const unread = await listen(
      createSocketServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 202 Accepted\r\n\r\n'))),
    );
    const extent = { amount: 1 };
    const lost = drive({ url: closing, requests: [requestTo(closing, 'x')], connections: 1, extent });
    await expect(lost).rejects.toThrow('closed');
    const strange = drive({ url: unread, requests: [requestTo(unread, 'x')], connections: 1, extent });
    await expect(strange).rejects.toThrow('Content-Length');
  });

  test('fails when nothing listens', async () => {
    const url = await listen(createSocketServer());
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
    const refused = drive({ url, requests: [requestTo(url, 'x')], connections: 2, extent: { amount: 1 } });
    await expect(refused).rejects.toThrow('ECONNREFUSED');
  });

  test('reads responses split at any point', () => {
    const bytes = Buffer.from(
      'HTTP/1.1 202 Accepted\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n',
    );
    for (let size = 1; size <= bytes.length; size += 1) {
      const statuses: number[] = [];
      const read = createResponseReader((status) => statuses.push(status));
      const shared = Buffer.alloc(size); // the buffer is reused, like that of a socket
      for (let at = 0; at < bytes.length; at += size) read(shared.subarray(0, bytes.copy(shared, 0, at, at + size)));
      expect(statuses).toEqual([202, 503]);
    }
  });

  test('measures times to within one per cent', () => {
    const times = createHistogram();
    expect(times.quantile(0.5)).toBeNaN();
    for (let ms = 1; ms <= 1000; ms += 1) times.record(ms);
    expect(times.quantile(0.5)).toBeCloseTo(500, -1);
    expect(times.quantile(0.99) / 990).toBeCloseTo(1, 1);
  });
});
