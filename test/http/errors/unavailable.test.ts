import { afterEach, describe, expect, test } from 'vitest';
import { AppendOutcomeUnknown, type EventStore } from '../../../src/domain/kernel/event-store.ts';
import { StoreUnavailable } from '../../../src/lib/async/async.ts';
import { HtmlCheckUnavailable } from '../../../src/lib/html/html.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createMemoryStore, type Overrides, type Service, startService } from '../support/service.ts';

const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };

let service: Service;
let key: string;
/** Fault with which the log rejects reads and appends, if set. */
let fault: (() => Promise<never>) | null = null;

const start = async (overrides: Overrides = {}): Promise<void> => {
  const contents = createInMemoryContents();
  const store = createMemoryStore(contents);
  const faulty: EventStore = {
    ...store,
    append: (append) => (fault === null ? store.append(append) : fault()),
    readStream: (stream, options) => (fault === null ? store.readStream(stream, options) : fault()),
  };
  service = await startService({ ...overrides, keyStore: store, context: { contents, store: faulty } });
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
};
afterEach(async () => {
  fault = null;
  await service.close();
});

const send = () => service.request({ method: 'POST', url: '/v1/messages/send', key, payload: VALID });

describe('while a dependency is unavailable', () => {
  test.each([
    ['the log', () => Promise.reject(new StoreUnavailable('away'))],
    ['any answer of the log', () => Promise.reject(new AppendOutcomeUnknown('no answer'))],
    ['the connection', () => Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }))],
    ['the server, which is shutting down', () => Promise.reject(Object.assign(new Error('admin'), { code: '57P01' }))],
  ])('%s, a send is 503 with Retry-After, and works again without a restart', async (_what, failure) => {
    await start();
    fault = failure;
    const answer = await send();
    expect([answer.statusCode, answer.json().error.code]).toEqual([503, 'unavailable']);
    expect(answer.headers['retry-after']).toBe('1');
    fault = null;
    expect((await send()).statusCode).toBe(202);
  });

  test('if it is the html check, nothing is sent unchecked', async () => {
    const check = () => Promise.reject(new HtmlCheckUnavailable('busy'));
    await start({ htmlChecker: { check, close: async () => undefined } });
    expect((await send()).statusCode).toBe(503);
  });

  test('if it is the read models, lists are 503 and single resources are not', async () => {
    await start();
    const list = await service.request({ url: '/v1/messages', key });
    expect([list.statusCode, list.headers['retry-after']]).toEqual([503, '1']);
    const { id } = (await send()).json();
    expect((await service.request({ url: `/v1/messages/${id}`, key })).statusCode).toBe(200);
  });

  test('if a probe fails, the process is alive and not ready', async () => {
    await start({ probes: { database: () => Promise.reject(new Error('away')), queue: async () => undefined } });
    expect((await service.request({ url: '/livez' })).statusCode).toBe(200);
    const ready = await service.request({ url: '/readyz' });
    expect([ready.statusCode, ready.json().error.message]).toEqual([503, 'not ready: database']);
  });

  test('a part with several failed probes is named once, with the reason', async () => {
    const away = () => Promise.reject(new Error('away'));
    await start({ probes: { log: away, database: away, 'log: it was replaced': away } });
    const ready = await service.request({ url: '/readyz' });
    expect(ready.json().error.message).toBe('not ready: log: it was replaced, database');
  });

  test('a fault of ours is 500 without a word of what happened, and logged with the request id', async () => {
    const logged: object[] = [];
    const log = (fields: object): void => {
      logged.push(fields);
    };
    await start({ logger: { debug: () => {}, info: () => {}, warn: () => {}, error: log } });
    fault = () => Promise.reject(new TypeError('secret sauce'));
    const answer = await send();
    expect([answer.statusCode, answer.json()]).toEqual([
      500,
      { error: { message: 'the service failed', code: 'internal_error' } },
    ]);
    expect(logged).toEqual([
      expect.objectContaining({ requestId: answer.headers['x-request-id'], url: '/v1/messages/send' }),
    ]);
  });
});

describe('closing', () => {
  test('waits for the requests in flight', async () => {
    await start();
    const { promise, resolve } = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    fault = () => {
      reached.resolve();
      return promise.then(() => Promise.reject(new StoreUnavailable('too late')));
    };
    // Checks of responses load the document once, which is not possible while the server closes.
    await service.request({ url: '/livez' });
    await service.server.listen({ port: 0, host: '127.0.0.1' });
    const { port } = service.server.server.address() as { port: number };
    const asked = fetch(`http://127.0.0.1:${port}/v1/messages/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(VALID),
    });
    await reached.promise;
    const closed = service.server.close();
    resolve();
    expect((await asked).status).toBe(503);
    await closed;
  });
});
