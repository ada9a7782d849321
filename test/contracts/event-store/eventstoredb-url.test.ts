import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { StartRefused } from '../../../src/lib/async/async.ts';
import { hostsOf } from '../../../src/lib/event-log/event-log.ts';
import { checkEventStoreDb } from '../../../src/lib/event-log/eventstoredb.ts';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import { silentLogger } from '../../support/logger.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';

const PASSWORD = 'hunter2';

describe('a wrong EVENTSTORE_URL', () => {
  let double: EventStoreDbDouble;
  let webServer: Server;
  beforeAll(async () => {
    double = await startEventStoreDbDouble();
    webServer = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    });
    webServer.listen(0, '127.0.0.1');
    await once(webServer, 'listening');
  });
  afterAll(async () => {
    webServer.close();
    await double.close();
  });

  /** The error message of the first use. */
  const sentenceFor = async (url: string): Promise<string> => {
    const store = openEventStoreDb(url);
    const error: unknown = await store.logId().catch((reason: unknown) => reason);
    await store.close();
    expect(error).toMatchObject({ name: 'StoreUnavailable' });
    return (error as Error).message;
  };

  it.each([
    [`postgres://admin:${PASSWORD}@host/outbox`, 'is not an EventStoreDB connection string'],
    [`esdb://admin:${PASSWORD}@host:port`, 'cannot be parsed'],
    [`esdb://admin:${PASSWORD}@host:2113?tls=no`, 'cannot be parsed'],
    [`esdb://admin:${PASSWORD}@host:2113?tlsVerifyCert=false`, 'has the option "tlsVerifyCert"'],
    [`esdb://admin:${PASSWORD}@host:2113?colour=red`, 'has the option "colour"'],
    ['', 'is not an EventStoreDB connection string'],
  ])('is rejected before anything is opened, with an example and without the password: %s', (url, why) => {
    const opening = (): unknown => openEventStoreDb(url);
    expect(opening).toThrow(`EVENTSTORE_URL ${why}`);
    expect(opening).toThrow('esdb://host:2113?tls=false');
    expect(opening).not.toThrow(PASSWORD);
    expect(opening).toThrow(StartRefused);
  });

  it('is reported when nothing listens there', async () => {
    const sentence = await sentenceFor(`esdb://admin:${PASSWORD}@127.0.0.1:1?tls=false`);
    expect(sentence).toContain('127.0.0.1:1: nothing listens there');
    expect(sentence).not.toContain(PASSWORD);
  });

  it('is reported when the server does not use TLS', async () => {
    expect(await sentenceFor(double.url.replace('?tls=false', ''))).toContain('add ?tls=false');
  });

  it('is reported when another kind of server answers', async () => {
    const { port } = webServer.address() as AddressInfo;
    expect(await sentenceFor(`esdb://127.0.0.1:${port}?tls=false`)).toContain('check that it is EventStoreDB');
  });

  it('is reported when no node of the cluster answers', async () => {
    expect(await sentenceFor('esdb://127.0.0.1:1,127.0.0.1:2?tls=false')).toContain('no node of the cluster answered');
  });
});

describe('a valid EVENTSTORE_URL', () => {
  let double: EventStoreDbDouble;
  beforeAll(async () => {
    double = await startEventStoreDbDouble();
  });
  afterAll(() => double.close());

  it('may use the newer scheme', async () => {
    const stores = [openEventStoreDb(double.url), openEventStoreDb(double.url.replace('esdb:', 'kurrentdb:'))];
    const [known, newer] = await Promise.all(stores.map((store) => store.logId()));
    expect(newer).toBe(known);
    for (const store of stores) await store.close();
  });

  it('is shown by its hosts, without the password', () => {
    const shown = (connectionString: string) => hostsOf({ connectionString, setting: 'EVENTSTORE_URL' });
    expect(shown(`kurrentdb://admin:${PASSWORD}@n1:2113,n2:2113,n3:2113?tls=true`)).toBe('n1:2113,n2:2113,n3:2113');
    expect(shown('esdb+discover://cluster.example.com/')).toBe('cluster.example.com');
  });
});

describe('the event store on start', () => {
  const system = createSystem();
  const check = async (url: string, patienceMs: number): Promise<unknown> => {
    const store = openEventStoreDb(url);
    const checking = checkEventStoreDb({ store, setting: 'EVENTSTORE_URL', system, logger: silentLogger, patienceMs });
    const outcome = await checking.catch((reason: unknown) => reason);
    await store.close();
    return outcome;
  };

  it('may be late: the service waits for it', async () => {
    const double = await startEventStoreDbDouble();
    await double.stop();
    const checking = check(double.url, 10_000);
    await system.sleep(200);
    await double.start();
    expect(await checking).toBeUndefined();
    await double.close();
  });

  it('fails the start, with one sentence that names the variable, if it never answers', async () => {
    const frozen = await startEventStoreDbDouble();
    frozen.freeze();
    for (const url of ['esdb://127.0.0.1:1?tls=false', 'esdb://127.0.0.1:1,127.0.0.1:2?tls=false', frozen.url]) {
      const refusal = await check(url, 0);
      expect(refusal).toBeInstanceOf(StartRefused);
      expect((refusal as Error).message).toMatch(/^[^\n]*127\.0\.0\.1:[^\n]*EVENTSTORE_URL[^\n]*$/);
    }
    await frozen.close();
  });
});
