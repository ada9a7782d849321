import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { oneAtATime } from '../../src/lib/http/connections.ts';

test('nothing more is read from a connection while its requests wait, also after the first responses', async () => {
  let began = 0;
  const server = createServer(
    oneAtATime((_request, response) => {
      began += 1;
      setTimeout(() => response.end('ok'), 50);
    }),
  ).listen(0, '127.0.0.1');
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.on('error', () => undefined);
  client.resume();
  await once(client, 'connect');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(200_000)); // 5.4 MB
  await vi.waitFor(() => expect(began).toBeGreaterThan(3), { timeout: 20_000 });
  expect(sockets[0]?.bytesRead).toBeLessThan(500_000);
});
