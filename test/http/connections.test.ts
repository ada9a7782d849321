import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientNetworkOf } from '../../src/domain/kernel/addresses.ts';
import {
  boundHttpConnections,
  CONNECTIONS_MAX,
  type ConnectionBounds,
  connectionsMax,
} from '../../src/lib/http/connections.ts';

/** Answers `/` immediately, and other paths when `answer` is called. `/key` authenticates. */
const start = async (bounds: Partial<ConnectionBounds>) => {
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/key') connections.authenticated(request.socket);
    if (request.url === '/wait') waiting.push(response);
    else response.end('ok');
  });
  const connections = boundHttpConnections(server, {
    max: 100,
    perNetwork: 3,
    networkOf: clientNetworkOf,
    isTrusted: () => false,
    ...bounds,
  });
  let seen = 0;
  server.on('connection', () => {
    seen += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Opens a connection from a local address. */
  const open = async (localAddress: string): Promise<Socket> => {
    const before = seen;
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.on('error', () => undefined).resume();
    onTestFinished(() => void socket.destroy());
    await expect.poll(() => seen).toBe(before + 1);
    return socket;
  };
  const ask = async (socket: Socket, path: string): Promise<void> => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    if (path === '/wait') await expect.poll(() => waiting.length).toBeGreaterThan(0);
    else await once(socket, 'data');
  };
  return { open, ask, connections };
};

const closed = (socket: Socket) => expect.poll(() => socket.closed, { timeout: 5_000 }).toBe(true);

describe('connections that have not authenticated', () => {
  test('are bounded for each network: the one that is idle for the longest is closed for a new one', async () => {
    const { open, ask, connections } = await start({});
    const sockets = [await open('127.0.0.1'), await open('127.0.0.1'), await open('127.0.0.1')];
    const stranger = await open('127.0.0.2');
    await ask(sockets[0] as Socket, '/');
    const fourth = await open('127.0.0.1');
    await closed(sockets[1] as Socket);
    await ask(fourth, '/');
    await ask(sockets[0] as Socket, '/');
    await ask(stranger, '/');
    expect(connections.size()).toBe(4);
  });

  test('are refused if all of the network are in use, and those of others are not', async () => {
    const { open, ask } = await start({ perNetwork: 1 });
    await ask(await open('127.0.0.1'), '/wait');
    await closed(await open('127.0.0.1'));
    await ask(await open('127.0.0.2'), '/');
  });

  test('that have sent half of a request are idle: slow headers hold no place', async () => {
    const { open, ask } = await start({ perNetwork: 1 });
    const slow = await open('127.0.0.1');
    slow.write('GET / HTTP/1.1\r\nX: ');
    await ask(await open('127.0.0.1'), '/');
    await closed(slow);
  });

  test('no longer count once a request on them was authenticated', async () => {
    const { open, ask } = await start({ perNetwork: 1 });
    const member = await open('127.0.0.1');
    await ask(member, '/key');
    await ask(await open('127.0.0.1'), '/');
    await ask(member, '/');
  });

  test('of a trusted proxy have no limit of their own', async () => {
    const { open, ask } = await start({ perNetwork: 1, isTrusted: (address) => address === '127.0.0.3' });
    const sockets = [await open('127.0.0.3'), await open('127.0.0.3'), await open('127.0.0.3')];
    for (const socket of sockets) await ask(socket, '/');
  });
});

describe('when descriptors run out', () => {
  test('idle connections that have not authenticated are closed first, then idle ones that have', async () => {
    const { open, ask } = await start({
      max: 4,
      perNetwork: 4,
      isTrusted: (address) => address === '127.0.0.9',
    });
    const busy = await open('127.0.0.9');
    await ask(busy, '/wait');
    const member = await open('127.0.0.1');
    await ask(member, '/key');
    const idle = await open('127.0.0.2');
    const proxied = await open('127.0.0.9');
    const first = await open('127.0.0.4');
    await closed(idle);
    expect([member.closed, proxied.closed]).toEqual([false, false]);
    await ask(first, '/key');
    await open('127.0.0.5');
    await closed(member);
    expect(busy.closed).toBe(false);
  });

  test('clients never use all of them', () => {
    expect(connectionsMax(Number.POSITIVE_INFINITY)).toBe(CONNECTIONS_MAX);
    expect(connectionsMax(4_096)).toBe(3_096);
    expect(connectionsMax(1_024)).toBe(512);
  });
});
