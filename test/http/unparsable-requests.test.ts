import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countConnections, listen } from './support/connections.ts';
import { type Service, startService } from './support/service.ts';

let service: Service;
let port: number;

beforeAll(async () => {
  service = await startService({}, () => undefined);
  port = await listen(service);
});
afterAll(() => service.close());

describe('a client whose request cannot be parsed', () => {
  test('gets the error although it still writes', async () => {
    for (let round = 0; round < 20; round += 1) {
      const asked = request({
        host: '127.0.0.1',
        port,
        agent: false,
        path: `/v1/messages?after=${'x'.repeat(8_000_000)}`,
      });
      asked.end();
      const [answer] = await once(asked, 'response');
      expect(answer.statusCode).toBe(431);
      asked.on('error', () => undefined); // it still writes, and the server has closed
      answer.resume();
    }
    await expect.poll(() => countConnections(service)).toBe(0);
  });

  test('and never stops writing is cut off within seconds', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    const writing = setInterval(() => socket.write('x'.repeat(50_000)), 20);
    socket.resume();
    await once(socket, 'close');
    clearInterval(writing);
    await expect.poll(() => countConnections(service)).toBe(0);
  });
});
