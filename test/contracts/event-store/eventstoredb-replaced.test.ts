import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createLogGuard } from '../../../src/lib/event-log/event-log.ts';
import { startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import { silentLogger } from '../../support/logger.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';
import { PATIENCE_MS } from './harness.ts';
import { replacedLogContract } from './replaced-log.contract.ts';
import { events, first, newStream } from './samples.ts';

const LOG_ID_STREAM = 'outboxLog-identity';

for (const style of ['24.6.0', '24.10.5'] as const) {
  replacedLogContract(`in EventStoreDB ${style}`, async () => {
    const double = await startEventStoreDbDouble(style);
    const store = openEventStoreDb(double.url);
    const { log } = double;
    const comesBackAfter = async (work: () => void): Promise<void> => {
      await double.stop();
      work();
      await double.start();
    };
    let closed: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      await store.close();
      await double.close();
    };
    const append = (stream: string, data: object): void => {
      const event = { id: randomUUID(), type: 'KeyRevoked', contentType: 'application/json' };
      const bytes = { data: Buffer.from(JSON.stringify(data)), metadata: Buffer.from('{"schemaVersion":1}') };
      log.append({ stream, expected: 'no-stream', events: [{ ...event, ...bytes }] });
    };
    return {
      store,
      comesBackShorterBy: (events) => comesBackAfter(() => log.restoreTo(log.records.length - events)),
      comesBackEmpty: () => comesBackAfter(() => log.restoreTo(0)),
      comesBackAsAnother: () =>
        comesBackAfter(() => {
          log.restoreTo(0);
          append(LOG_ID_STREAM, { logId: randomUUID() });
          for (let n = 0; n < 50; n += 1) append(`apiKey-other${n}`, { keyId: 'of another' });
        }),
      close: () => {
        closed ??= close();
        return closed;
      },
    };
  });
}

/** Forwards connections to a server that can be changed for later connections. */
const startBalancer = async (to: string) => {
  const portOf = (url: string): number => Number(new URL(url.replace('esdb:', 'http:')).port);
  const clients: Socket[] = [];
  let port = portOf(to);
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    clients.push(client);
    client.on('error', () => {}).on('close', () => upstream.destroy());
    upstream.on('error', () => {}).on('close', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `esdb://127.0.0.1:${(server.address() as AddressInfo).port}?tls=false`,
    sendTo: (url: string) => {
      port = portOf(url);
    },
    /** @param index in order of connection. */
    cut: (index: number) => clients[index]?.destroy(),
    close: () => server.close(),
  };
};

it('a log that is replaced only on the connection for appends accepts none', async () => {
  const [ours, foreign] = [await startEventStoreDbDouble(), await startEventStoreDbDouble()];
  const balancer = await startBalancer(ours.url);
  const store = openEventStoreDb(balancer.url);
  await store.append(first(newStream(), events(1))); // the first connection
  const guard = await createLogGuard({ store, system: createSystem(), logger: silentLogger, lookEveryMs: PATIENCE_MS });
  await store.head(); // the second
  const guarded = guard.guard(store);
  await guarded.append(first(newStream(), events(1)));
  balancer.sendTo(foreign.url);
  balancer.cut(0);
  const outcomes = [];
  for (let turn = 0; turn < 10; turn += 1) {
    outcomes.push(await guarded.append(first(newStream(), events(1))).catch(() => 'refused'));
  }
  expect(new Set(outcomes)).toEqual(new Set(['refused']));
  expect(guard.replaced()).not.toBeNull();
  await guard.close();
  await store.close();
  balancer.close();
  await Promise.all([ours.close(), foreign.close()]);
});
