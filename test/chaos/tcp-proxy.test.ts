import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/api-client.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** Records the output of a socket, and how it ended. */
const listen = (socket: Socket) => {
  const heard = { text: '', chunks: 0, ended: '' };
  socket.on('data', (chunk: Buffer) => {
    heard.text += chunk.toString();
    heard.chunks += 1;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    heard.ended = error.code ?? '';
  });
  socket.on('close', () => {
    heard.ended ||= 'closed';
  });
  return heard;
};

describe('the proxy that simulates a bad network', () => {
  let proxy: TcpProxy;
  let client: Socket;
  let accepted: Socket;
  let atServer: ReturnType<typeof listen>;
  let atClient: ReturnType<typeof listen>;

  const connectToProxy = async (): Promise<Socket> => {
    const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };

  beforeEach(async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    proxy = await startTcpProxy(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(proxy.stop);
    const arrived = once(server, 'connection');
    client = await connectToProxy();
    [accepted] = (await arrived) as [Socket];
    [atServer, atClient] = [listen(accepted), listen(client)];
  });
  const heard = (at: ReturnType<typeof listen>, text: string) =>
    eventually(
      async () => at.text,
      (found) => found === text,
      2_000,
    );

  test('forwards all data, then the end of the connection', async () => {
    client.end('hello');
    await heard(atServer, 'hello');
    await expect.poll(() => atServer.ended).toBe('closed');
  });

  test('delivers late but in order when it delays', async () => {
    proxy.delay(150);
    client.write('one ');
    proxy.mend();
    client.write('two');
    await sleep(50);
    proxy.delay(150);
    client.write(' three');
    expect(atServer.text).not.toContain('three');
    await heard(atServer, 'one two three');
  });

  test('is silent in one direction only, and delivers that data later', async () => {
    proxy.silence('to client');
    client.write('question');
    await heard(atServer, 'question');
    accepted.write('answer');
    client.write(' and another');
    await heard(atServer, 'question and another');
    expect(atClient.text).toBe('');
    proxy.mend();
    await heard(atClient, 'answer');
  });

  test('is silent for new connections too', async () => {
    proxy.silence('to server');
    const another = await connectToProxy();
    const at = listen(another);
    another.write('question');
    await sleep(100);
    expect([at.text, at.ended]).toEqual(['', '']);
  });

  test('drops connections silently, and accepts new ones', async () => {
    proxy.forget(60);
    client.write('question');
    accepted.write('answer');
    proxy.mend();
    await expect.poll(() => atServer.ended).not.toBe('');
    expect([atServer.text, atClient.text, atClient.ended]).toEqual(['', '', '']);
    const another = await connectToProxy();
    await sleep(50);
    expect(another.destroyed).toBe(false);
  });

  test('forwards one byte at a time', async () => {
    proxy.trickle();
    client.write('0123456789'.repeat(20));
    await heard(atServer, '0123456789'.repeat(20));
    expect(atServer.chunks).toBeGreaterThan(20);
  });

  test('resets both ends, loses data in flight, and accepts new connections', async () => {
    proxy.delay(200);
    client.write('lost');
    await sleep(20);
    proxy.reset();
    await eventually(
      async () => [atClient.ended, atServer.ended],
      (ended) => ended.every((each) => each === 'ECONNRESET'),
    );
    expect(atServer.text).toBe('');
    await connectToProxy();
  });

  test('refuses connections while it is cut off', async () => {
    proxy.cut();
    const refused = listen(await connectToProxy());
    await eventually(
      async () => refused.ended,
      (ended) => ended !== '',
    );
    proxy.mend();
    const taken = listen(await connectToProxy());
    await sleep(50);
    expect(taken.ended).toBe('');
  });
});
