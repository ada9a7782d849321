import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../support/slowness.ts';
import { allOf, statusesIn } from './support/connections.ts';
import { type Service, startService } from './support/service.ts';

const REQUESTS = 20_000;

let service: Service;
let port: number;
let baseUrl: string;

beforeAll(async () => {
  service = await startService({}, () => undefined);
  baseUrl = await service.server.listen({ host: '127.0.0.1', port: 0 });
  port = (service.server.server.address() as AddressInfo).port;
});
afterAll(() => service.close());

const open = async (): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};

/** Time for one response on a new connection, as a probe sees it. */
const livezMs = async (): Promise<number> => {
  const beganMs = performance.now();
  const answer = await fetch(`${baseUrl}/livez`, { headers: { connection: 'close' } });
  await answer.arrayBuffer();
  return performance.now() - beganMs;
};

const paths = ['/docs', '/v1/messages'];

describe.each(paths)('twenty thousand pipelined requests for %s on one connection', (path) => {
  test.each(['', 'Accept-Encoding: gzip\r\n'])('do not delay others (%j)', async (header) => {
    await livezMs(); // warms up the code
    const socket = await open();
    const answered = once(socket, 'data');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n`.repeat(REQUESTS));
    await answered;
    socket.resume();
    const times: number[] = [];
    for (let probe = 0; probe < 8; probe += 1) times.push(await livezMs());
    socket.destroy();
    expect(Math.max(...times)).toBeLessThan(1_000 * slowness());
  });
});

describe('pipelined requests', () => {
  test('are answered whole and in order, including one with a body', async () => {
    const socket = await open();
    const body = JSON.stringify({ text: 'x'.repeat(30_000) });
    const post = `POST /livez HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
    socket.write(
      [get('/livez'), get('/nothing'), post.repeat(5), get('/'), get('/livez', 'Connection: close\r\n')].join(''),
    );
    expect(statusesIn(await allOf(socket))).toEqual(['200', '404', '405', '405', '405', '405', '405', '302', '200']);
  });

  test('are handled one at a time: one behind a slow one has not begun', async () => {
    let inFlight = 0;
    let most = 0;
    const slow = await startService(
      {
        probes: {
          slow: async () => {
            inFlight += 1;
            most = Math.max(most, inFlight);
            await new Promise((resolve) => setTimeout(resolve, 5));
            inFlight -= 1;
          },
        },
      },
      () => undefined,
    );
    await slow.server.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect((slow.server.server.address() as AddressInfo).port, '127.0.0.1');
    const get = 'GET /readyz HTTP/1.1\r\nHost: x\r\n';
    socket.write(`${`${get}\r\n`.repeat(50)}${get}Connection: close\r\n\r\n`);
    const answers = await allOf(socket);
    expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(51);
    expect(most).toBe(1);
    await slow.close();
  });

  test('hold nothing for a client that disconnects while they wait', async () => {
    const socket = await open();
    socket.write('GET /docs HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(500));
    await once(socket, 'data');
    socket.destroy();
    expect(await livezMs()).toBeLessThan(1_000 * slowness());
  });
});
