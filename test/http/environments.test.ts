import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../src/domain/kernel/environment.ts';
import type { AnyBody } from '../support/api-client.ts';
import { type DatabaseService, startDatabaseService } from './support/database-service.ts';

const HOUR_MS = 3_600_000;
const LISTENER = 'http://127.0.0.1:9/';
const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', text: 'Hello' };
/** Recipients of the messages that each environment sends. */
const RECIPIENTS = 5;
const BOTH = [
  ['live', 'test'],
  ['test', 'live'],
] as const;

/** Resources that an environment's admin key created. */
interface MadeResource {
  readonly key: string;
  readonly keyId: string;
  readonly messages: readonly string[];
  readonly scheduled: string;
  readonly webhook: string;
  readonly spareKey: string;
  /** Cursors from its lists, by path. */
  readonly cursors: Readonly<Record<string, string>>;
}

let service: DatabaseService;
let domainId: string;
const made = {} as Record<Environment, MadeResource>;

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

const ask = async (key: string, method: Method, url: string, payload?: object) => {
  const answer = await service.request({ method, url, key, ...(payload === undefined ? {} : { payload }) });
  const body: AnyBody = answer.body === '' ? null : answer.json();
  return { status: answer.statusCode, body, code: body?.error?.code };
};
const get = async (by: Environment, url: string): Promise<AnyBody> => {
  const { status, body } = await ask(made[by].key, 'GET', url);
  expect([url, status]).toEqual([url, 200]);
  return body;
};
const idsOf = ({ data }: AnyBody): readonly string[] => data.map(({ id }: { id: string }) => id);

const LISTS = ['/v1/messages', '/v1/events', '/v1/webhooks', '/v1/api-keys'];
const inAnHour = (): string => new Date(Date.now() + HOUR_MS).toISOString();

const makeAll = async (environment: Environment, organizationId: string): Promise<MadeResource> => {
  const { id: keyId, value: key } = await service.makeKey(organizationId, domainId, { environment });
  const create = async (url: string, payload: object): Promise<AnyBody> => {
    const { status, body } = await ask(key, 'POST', url, payload);
    expect(status).toBeLessThan(300);
    return body;
  };
  const single = await create('/v1/messages/send', MESSAGE);
  const batch = await create('/v1/messages/batch', {
    messages: [MESSAGE, { ...MESSAGE, to: ['c@d.test', 'e@f.test'] }],
  });
  const scheduled = await create('/v1/messages/send', { ...MESSAGE, scheduled_at: inAnHour() });
  const webhook = await create('/v1/webhooks', { url: LISTENER, events: ['message.*'] });
  await create('/v1/webhooks', { url: LISTENER, events: ['message.*'] });
  const spare = { name: 'spare', domain_id: domainId, permissions: ['send'] };
  const spareKey = await create('/v1/api-keys', { ...spare, environment });
  const pages = LISTS.map(async (url) => [url, (await ask(key, 'GET', `${url}?limit=1`)).body.next_cursor] as const);
  return {
    key,
    keyId,
    scheduled: scheduled.id,
    webhook: webhook.id,
    spareKey: spareKey.id,
    messages: [single.id, ...idsOf(batch), scheduled.id],
    cursors: Object.fromEntries(await Promise.all(pages)),
  };
};

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  made.live = await makeAll('live', organizationId);
  made.test = await makeAll('test', organizationId);
});
afterAll(() => service.close());

/** Asserts that `work` writes no event. */
const withoutTrace = async (work: () => Promise<void>): Promise<void> => {
  const { store } = service.deps.context;
  const head = await store.head();
  await work();
  expect(await store.head()).toBe(head);
};

describe.each(BOTH)('a %s key', (by, of) => {
  test('lists the messages of its environment, whatever the filter', async () => {
    for (const filter of [
      '',
      'to=b@example.org&',
      'from=a@example.test&',
      `domain_id=${domainId}&`,
      'status=scheduled&',
    ]) {
      const found = idsOf(await get(by, `/v1/messages?${filter}limit=100`));
      expect(found.length).toBeGreaterThan(0);
      expect(made[by].messages).toEqual(expect.arrayContaining([...found]));
    }
    const whole = await get(by, '/v1/messages');
    expect(idsOf(whole).toSorted()).toEqual(made[by].messages.toSorted());
    const times = whole.data.map(({ created_at: createdAt }: AnyBody) => createdAt);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test(`is answered 404 about ${of} messages, single, in a batch or scheduled, by every route`, async () => {
    await withoutTrace(async () => {
      for (const id of made[of].messages) {
        const url = `/v1/messages/${id}`;
        const answers = [
          ...['', '/content', '/preview', '/raw', '/events', '/events?limit=1', '/explain'].map((path) =>
            ask(made[by].key, 'GET', url + path),
          ),
          ask(made[by].key, 'POST', `${url}/cancel`),
          ask(made[by].key, 'PATCH', url, { scheduled_at: inAnHour() }),
        ];
        const error = { code: 'not_found', message: 'message not found' };
        for (const { status, body } of await Promise.all(answers)) expect([status, body]).toEqual([404, { error }]);
      }
    });
    expect((await get(of, `/v1/messages/${made[of].scheduled}`)).status).toBe('scheduled');
  });

  test('reads the events of its environment and no others', async () => {
    const { data } = await get(by, '/v1/events?limit=100');
    const ofDomains = data.filter(({ type }: AnyBody) => type.startsWith('domain.'));
    expect(data.filter(({ environment }: AnyBody) => environment !== by)).toEqual(ofDomains);
    const about = new Set(data.map((event: AnyBody) => event.data.message_id).filter(Boolean));
    expect(about).toEqual(new Set(made[by].messages));
    const text = JSON.stringify(data);
    for (const id of [...made[of].messages, made[of].webhook, made[of].spareKey]) expect(text).not.toContain(id);
    for (const id of [made[by].webhook, made[by].spareKey]) expect(text).toContain(id);
  });

  test('counts the recipients of its environment and no others', async () => {
    for (const asked of ['', '?group_by=domain', `?domain=${domainId}`, `?api_key=${made[by].keyId}`])
      expect((await get(by, `/v1/stats${asked}`)).totals.accepted).toBe(RECIPIENTS);
    expect((await get(by, `/v1/stats?api_key=${made[of].keyId}`)).totals.accepted).toBe(0);
    const groups = async (dimension: string): Promise<readonly AnyBody[]> => {
      const { data } = await get(by, `/v1/stats?group_by=${dimension}`);
      return [...new Set(data.filter((bucket: AnyBody) => bucket.accepted > 0).map((bucket: AnyBody) => bucket.group))];
    };
    expect([await groups('api_key'), await groups('environment')]).toEqual([[made[by].keyId], [by]]);
  });

  test('lists the webhooks of its environment, and is answered 404 about others', async () => {
    expect(idsOf(await get(by, '/v1/webhooks'))).toContain(made[by].webhook);
    expect(idsOf(await get(by, '/v1/webhooks'))).not.toContain(made[of].webhook);
    await withoutTrace(async () => {
      const url = `/v1/webhooks/${made[of].webhook}`;
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/deliveries'],
        ['DELETE', ''],
      ] as const)
        expect((await ask(made[by].key, method, url + path)).status).toBe(404);
    });
    expect((await get(of, `/v1/webhooks/${made[of].webhook}`)).id).toBe(made[of].webhook);
  });

  test.each(LISTS)(`finds nothing of ${of} by a cursor that %s gave there`, async (url) => {
    const after = made[of].cursors[url];
    expect(after).toMatch(/./);
    const { status, body, code } = await ask(made[by].key, 'GET', `${url}?limit=100&after=${after}`);
    if (status !== 200) return expect([status, code]).toEqual([400, 'invalid_cursor']);
    const visible = await get(by, `${url}?limit=100`);
    expect(idsOf(visible)).toEqual(expect.arrayContaining([...idsOf(body)]));
  });
});

describe('a test key', () => {
  const by = (method: Method, url: string, payload?: object) => ask(made.test.key, method, url, payload);

  test('touches no live key by any route', async () => {
    const before = await get('live', `/v1/api-keys/${made.live.spareKey}`);
    await withoutTrace(async () => {
      const url = `/v1/api-keys/${made.live.spareKey}`;
      const answers = [
        by('GET', url),
        by('GET', `${url}/history`),
        by('PATCH', url, { name: 'Mine' }),
        by('DELETE', url),
        by('POST', `${url}/rotate`),
        by('POST', `${url}/revoke`),
      ];
      const error = { code: 'not_found', message: 'API key not found' };
      for (const { status, body } of await Promise.all(answers)) expect([status, body]).toEqual([404, { error }]);
    });
    expect(await get('live', `/v1/api-keys/${made.live.spareKey}`)).toEqual(before);
    expect((await get('live', `/v1/api-keys/${made.live.spareKey}/history`)).data).toHaveLength(1);
  });

  test('lists only test keys, where a live key lists both', async () => {
    const ofTest = [made.test.spareKey, made.test.keyId];
    expect(idsOf(await get('test', '/v1/api-keys'))).toEqual(ofTest);
    expect(idsOf(await get('live', '/v1/api-keys'))).toEqual([...ofTest, made.live.spareKey, made.live.keyId]);
  });

  test('makes only test keys, where a live key makes both', async () => {
    const wanted = { name: 'new', domain_id: domainId, permissions: ['send'] };
    const message = 'a test key cannot create or change live keys: use a live key';
    await withoutTrace(async () => {
      const { status, body } = await by('POST', '/v1/api-keys', { ...wanted, environment: 'live' });
      expect([status, body]).toEqual([403, { error: { code: 'environment_not_allowed', message } }]);
    });
    const own = await by('POST', '/v1/api-keys', wanted);
    expect([own.status, own.body.environment, own.body.key]).toEqual([201, 'test', expect.stringMatching(/^ob_test_/)]);
    const other = await ask(made.live.key, 'POST', '/v1/api-keys', { ...wanted, environment: 'test' });
    expect([other.status, other.body.environment]).toEqual([201, 'test']);
    for (const { body } of [own, other]) expect((await by('DELETE', `/v1/api-keys/${body.id}`)).status).toBe(204);
  });

  test('changes no domain, and sees them and the organization as a live key does', async () => {
    const error = { code: 'environment_not_allowed', message: 'a test key cannot do this: use a live key' };
    await withoutTrace(async () => {
      const url = `/v1/domains/${domainId}`;
      const answers = [by('POST', '/v1/domains', { name: 'new.test' }), by('POST', `${url}/verify`), by('DELETE', url)];
      for (const { status, body } of await Promise.all(answers)) expect([status, body]).toEqual([403, { error }]);
    });
    for (const url of ['/v1/domains', `/v1/domains/${domainId}`, '/v1/organization'])
      expect(await get('test', url)).toEqual(await get('live', url));
  });

  test('sees no mail that was sent, and is not billed', async () => {
    expect((await get('test', '/v1/inbox')).data).toEqual([]);
    expect((await get('test', '/v1/billing')).usage.billable_recipients).toBe(RECIPIENTS);
  });
});

test('an Idempotency-Key that one environment has used makes a message of its own in the other', async () => {
  const headers = { 'idempotency-key': 'once' };
  const send = (environment: Environment) => {
    const { key } = made[environment];
    return service.request({ method: 'POST', url: '/v1/messages/send', key, payload: MESSAGE, headers });
  };
  const [live, simulated, again] = [await send('live'), await send('test'), await send('test')];
  expect([live.statusCode, simulated.statusCode]).toEqual([202, 202]);
  expect(simulated.headers['idempotent-replayed']).toBeUndefined();
  expect(simulated.json().id).not.toBe(live.json().id);
  expect([again.headers['idempotent-replayed'], again.body]).toEqual(['true', simulated.body]);
});
