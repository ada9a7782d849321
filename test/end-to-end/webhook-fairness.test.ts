import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createPostgresWebhookDeliveries } from '../../src/adapters/webhook-deliveries/postgres.ts';
import { openPool } from '../projections/support/open.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { until } from '../workers/delivering.ts';
import { openService, type Parts, type Service } from '../workers/service.ts';
import { openReceiver, type Receiver } from '../workers/webhooks/receiver.ts';

/** All webhooks of an organization except the healthy one. */
const DEAD = 49;
const EVENTS = 40;

/** Accepts connections on every address of this machine and never responds. @returns its port. */
const openBlackHole = async (): Promise<number> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

/** URLs with different addresses, as real endpoints have. */
const deadUrls = (port: number): readonly string[] =>
  Array.from({ length: DEAD }, (_, number) => `http://127.0.${1 + (number >> 8)}.${number & 255}:${port}/hook`);

interface Beside {
  readonly service: Service;
  readonly healthy: Receiver;
  sendAll(): Promise<void>;
}

const openBeside = async (others: readonly string[], parts: Parts): Promise<Beside> => {
  const service = closedAfterTest(await openService(parts));
  const receiver = closedAfterTest(await openReceiver());
  for (const url of others) await service.webhook(url, ['message.accepted'], 'test');
  await service.webhook(receiver.url, ['message.accepted'], 'test');
  const sendAll = async (): Promise<void> => {
    await Promise.all(Array.from({ length: EVENTS }, (_, number) => service.send(`u${number}@example.org`, 'test')));
  };
  return { service, healthy: receiver, sendAll };
};

const secondsUntil = async (check: () => void): Promise<number> => {
  const beganMs = performance.now();
  await until(check);
  return (performance.now() - beganMs) / 1000;
};

describe('a healthy endpoint', () => {
  test('receives everything it is owed despite 49 dead ones of the same organization, which are attempted too', async () => {
    const webhookDeliveries = createPostgresWebhookDeliveries({ pool: await openPool() });
    const { service, healthy, sendAll } = await openBeside(deadUrls(await openBlackHole()), { webhookDeliveries });
    service.workers().start();
    await sendAll();
    await until(() => expect(healthy.posts).toHaveLength(EVENTS));
    // By now all the others have requests in flight and further deliveries pending.
    await sendAll();
    expect(await secondsUntil(() => expect(healthy.posts).toHaveLength(2 * EVENTS))).toBeLessThan(10);
  });
});
