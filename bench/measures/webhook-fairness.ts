import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Closers, createClosers } from '../../src/composition/lifecycle.ts';
import type { Bench, Measure } from '../harness/bench.ts';
import { openChild } from '../harness/child.ts';
import { interleave } from '../harness/interleave.ts';
import { openService } from '../harness/open-service.ts';
import { SENDING_DOMAIN } from '../harness/provision.ts';
import { registerWebhook } from '../harness/register-webhook.ts';
import { until } from '../harness/until.ts';

const FLOOR = { of: 'ratio', atMost: 1.3 } as const;
/** The webhook limit of an organization minus the healthy one. */
const DEAD = 49;
/**
 * Sent one after another for longer than the time-out of a dead endpoint, so that each of those has all its posts in
 * flight.
 */
const EVENTS = 400;
const EVENT_EVERY_MS = 75;
const ACCEPTED = 202;
const SECOND_MS = 1_000;

const MESSAGE = JSON.stringify({
  from: `orders@${SENDING_DOMAIN}`,
  to: 'customer@example.net',
  subject: 'Your order',
  text: 'It is on its way, and will be with you tomorrow.',
});

/** Accepts connections on every address of this machine and stays silent. @returns its port. */
const openBlackHole = async (closers: Closers): Promise<number> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  closers.add('black hole', async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

/** A different address for each endpoint, as in production. */
const deadUrls = (port: number): readonly string[] =>
  Array.from({ length: DEAD }, (_, number) => `http://127.0.${1 + (number >> 8)}.${number & 255}:${port}/`);

const send = async (baseUrl: string, key: string): Promise<void> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(new URL('/v1/messages/send', baseUrl), { method: 'POST', headers, body: MESSAGE });
  if (response.status !== ACCEPTED) throw new Error(`a message was not accepted: ${await response.text()}`);
  await response.body?.cancel();
};

/** Uses a new service each time. @returns seconds until the healthy endpoint has every event of a steady sequence. */
const take = async (bench: Bench, hasDead: boolean): Promise<number> => {
  const closers = createClosers(bench.logger);
  bench.closers.add('turn', closers.closeAll);
  try {
    const receiver = await openChild<{ readonly port: number }>(closers, { name: 'webhook-receiver' });
    const { baseUrl, key } = await openService({ ...bench, closers }, { mailUrl: 'capture:' });
    const dead = hasDead ? deadUrls(await openBlackHole(closers)) : [];
    for (const url of [...dead, `http://127.0.0.1:${receiver.facts.port}/`])
      await registerWebhook(key, { apiUrl: baseUrl, url });
    const beganMs = performance.now();
    for (let sent = 0; sent < EVENTS; sent += 1) {
      await sleep(Math.max(0, beganMs + sent * EVENT_EVERY_MS - performance.now()));
      await send(baseUrl, key);
    }
    const posted = async (): Promise<boolean> => (await receiver.ask<number>('count')) >= EVENTS;
    await until('all events at the healthy endpoint', posted);
    return (performance.now() - beganMs) / SECOND_MS;
  } finally {
    await closers.closeAll();
  }
};

/** A healthy endpoint among dead ones of the same organization, compared with the endpoint alone. */
export const webhookFairness: Measure = {
  name: 'webhook-fairness',
  run: async (bench) => {
    const figures = await interleave(
      { rounds: bench.rounds, warmUps: 0 },
      { ours: () => take(bench, true), limit: () => take(bench, false) },
    );
    return [
      {
        measure: `${EVENTS} events to a healthy endpoint beside ${DEAD} dead ones`,
        unit: 's',
        rounds: figures.ours,
        floor: FLOOR,
        limit: { what: 'the same without dead ones', rounds: figures.limit },
      },
    ];
  },
};
