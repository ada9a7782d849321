import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import {
  type SmtpListener,
  type SmtpTask,
  startSmtpListener,
} from '../../../src/adapters/smtp-listener/smtp-listener.ts';
import { makeTlsPair } from '../../submission/support/tls-pair.ts';
import { silentLogger } from '../../support/logger.ts';

const PER_NEIGHBOUR = 5;

const TASK: SmtpTask = {
  bounds: { perNetwork: PER_NEIGHBOUR, authMs: 30_000, durationMs: 30_000 },
  serve: () => ({ authOptional: true, maxClients: 50, closeTimeout: 100 }),
};

/** With TLS from the first byte on; networks are addresses. */
const open = async (): Promise<SmtpListener> =>
  startSmtpListener(TASK, {
    ...{ host: '127.0.0.1', port: 0, tls: await makeTlsPair(), tlsBegins: 'implicit' },
    networkOf: (address) => address,
    logger: silentLogger,
  });

const openSilent = async (port: number, localAddress: string): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  onTestFinished(() => {
    socket.destroy();
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket.resume();
};

test('a network that opens connections and never begins TLS takes no places of others', async () => {
  const { port, close } = await open();
  onTestFinished(close);
  const sockets = await Promise.all(Array.from({ length: 60 }, () => openSilent(port, '127.0.0.2')));
  const isOpen = (socket: Socket): boolean => !socket.closed;
  for (let waited = 0; sockets.filter(isOpen).length > 2 * PER_NEIGHBOUR && waited < 5_000; waited += 20)
    await sleep(20);
  expect(sockets.filter(isOpen)).toHaveLength(2 * PER_NEIGHBOUR);

  const welcome = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  onTestFinished(() => {
    welcome.destroy();
  });
  expect(String((await once(welcome, 'data'))[0])).toMatch(/^220 /);

  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await openSilent(port, '127.0.0.2')).closed, { timeout: 5_000 }).toBe(false);
});

test('a connection that comes at the moment of closing, and says nothing, does not take the process with it', async () => {
  const listener = await open();
  const silent = await openSilent(listener.port, '127.0.0.1');
  const closed = listener.close();
  silent.destroy();
  await closed;
  await sleep(200);
});
