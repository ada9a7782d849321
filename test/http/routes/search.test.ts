import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bounce } from '../support/bounced.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../support/sign-in.ts';

let service: DatabaseService;
let own: Tenant;
let strange: Tenant;

interface Tenant {
  readonly organizationId: string;
  readonly domainId: string;
  readonly key: string;
  readonly keyId: string;
  readonly testKey: string;
  readonly sender: string;
  readonly messageId: string;
  readonly requestId: string;
  readonly templateId: string;
  readonly webhookId: string;
  readonly topicId: string;
  readonly suppressionId: string;
  readonly inboundId: string;
  readonly inboundRouteId: string;
}

const ask = async (method: 'GET' | 'POST', url: string, key: string, payload?: object) => {
  const answer = await service.request({ method, url, key, ...(payload === undefined ? {} : { payload }) });
  const body = answer.json();
  return { status: answer.statusCode, body, code: body.error?.code, requestId: answer.headers['x-request-id'] };
};
const made = async (url: string, key: string, payload: object) => {
  const { status, body } = await ask('POST', url, key, payload);
  expect([url, status, body.error]).toEqual([url, expect.toSatisfy((code: number) => code < 300), undefined]);
  return body;
};

const tenant = async (name: string): Promise<Tenant> => {
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, `${name}.test`);
  const { value: key, id: keyId } = await service.makeKey(organizationId, domainId, { name: `Shop % ${name}` });
  const { value: testKey } = await service.makeKey(organizationId, domainId, { environment: 'test', name: 'Trial' });
  const { value: sender } = await service.makeKey(organizationId, domainId, { permissions: ['send', 'read'] });
  const mail = {
    from: `shop@${name}.test`,
    to: 'ann@example.org',
    subject: 'Your Order',
    text: 'Sent.',
    tags: [{ name: 'order', value: `nr-${name}` }],
  };
  const sent = await ask('POST', '/v1/messages/send', key, mail);
  expect(sent.status).toBe(202);
  const template = await made('/v1/templates', key, {
    alias: `welcome-${name}`,
    name: 'Greeting',
    subject: 'Hi',
    html: '<p>Hi</p>',
  });
  const webhook = await made('/v1/webhooks', key, { url: `https://localhost/${name}`, events: ['message.*'] });
  const topic = await made('/v1/topics', key, { name: 'Newsletter', default: 'in' });
  const suppression = await made('/v1/suppressions', key, { address: 'bob@example.org' });
  const to = `support@${name}.test`;
  const raw = 'From: Zoe <zoe@example.org>\r\nSubject: Where is it\r\n\r\nHello\r\n';
  const received = await made('/v1/inbound/test', key, { raw, to, from: 'zoe@example.org' });
  const route = await made('/v1/inbound-routes', key, { domain_id: domainId, match: 'sales+*', action: 'store' });
  return {
    organizationId,
    domainId,
    key,
    keyId,
    testKey,
    sender,
    messageId: sent.body.id,
    requestId: String(sent.requestId),
    templateId: template.id,
    webhookId: webhook.id,
    topicId: topic.id,
    suppressionId: suppression.id ?? suppression.data[0].id,
    inboundId: received.id,
    inboundRouteId: route.id,
  };
};

const find = async (q: string, key = own.key) => {
  const { status, body } = await ask('GET', `/v1/search?q=${encodeURIComponent(q)}`, key);
  expect([q, status]).toEqual([q, 200]);
  return body.data as readonly {
    type: string;
    id: string | null;
    title: string;
    path: string;
    message: object | null;
  }[];
};
const shown = async (q: string, key = own.key) => (await find(q, key)).map(({ type, id }) => [type, id]);

beforeAll(async () => {
  service = await startDatabaseService();
  [own, strange] = [await tenant('own'), await tenant('strange')];
  const { store } = service.deps.context;
  const names = [
    'messages',
    'api-keys',
    'templates',
    'webhooks',
    'topics',
    'suppressions',
    'inbound',
    'events',
    'stats',
  ] as const;
  expect(await service.deps.readModels.waitFor(names, await store.head(), { timeoutMs: 30_000 })).toBe(true);
});
afterAll(() => service.close());

describe('the search', () => {
  test('resolves ids of every kind, and a path of each that can be read', async () => {
    const ids = [
      ['message', own.messageId],
      ['api_key', own.keyId],
      ['domain', own.domainId],
      ['template', own.templateId],
      ['webhook', own.webhookId],
      ['topic', own.topicId],
      ['suppression', own.suppressionId],
      ['inbound_message', own.inboundId],
      ['inbound_route', own.inboundRouteId],
    ] as const;
    for (const [type, id] of ids) {
      expect(await shown(` ${id} `)).toEqual([[type, id]]);
      const [hit] = await find(id);
      expect([hit?.path, (await ask('GET', hit?.path ?? '', own.key)).status]).toEqual([hit?.path, 200]);
    }
  });

  test('finds inbound mail of another organization, or of another domain than that of the key, neither by id nor address', async () => {
    expect(await find(own.inboundId, strange.key)).toEqual([]);
    expect(await find(own.inboundRouteId, strange.key)).toEqual([]);
    expect(await find('support@own.test', strange.key)).toEqual([]);
    const second = await service.makeDomain(own.organizationId, 'second.test');
    const { value } = await service.makeKey(own.organizationId, second, { permissions: ['send', 'read'] });
    expect(await find(own.inboundId, value)).toEqual([]);
    expect(await find('support@own.test', value)).toEqual([]);
    expect(await find(`inb_${'a'.repeat(26)}`)).toEqual([]);
    expect(await find(own.inboundId)).toMatchObject([{ title: 'Where is it', path: `/v1/inbound/${own.inboundId}` }]);
    expect(await find(own.inboundRouteId)).toMatchObject([{ title: 'sales+*' }]);
  });

  test('shows the state of a message that it finds', async () => {
    const to = ['ann@example.org', 'cleo@example.org', 'dan@example.org'];
    const mail = { from: 'shop@strange.test', to, subject: 'Counted', text: 'Sent.' };
    const { id } = (await ask('POST', '/v1/messages/send', strange.key, mail)).body;
    const { store } = service.deps.context;
    const stateNow = async () => {
      expect(await service.deps.readModels.waitFor(['messages'], await store.head(), { timeoutMs: 30_000 })).toBe(true);
      return (await find(id, strange.key))[0]?.message;
    };
    expect(await stateNow()).toEqual({ status: 'accepted', partial: false, recipients: 3, delivered: 0, bounced: 0 });
    await bounce(service, id, [1]);
    expect(await stateNow()).toEqual({ status: 'delivered', partial: true, recipients: 3, delivered: 1, bounced: 2 });
    expect((await find('Counted', strange.key)).map(({ message }) => message)).toEqual([null]);
  });

  test('finds events of any type by their ids', async () => {
    const { body } = await ask('GET', '/v1/events?limit=100', own.key);
    const types = new Set<string>();
    for (const { id, type } of body.data) {
      const [hit] = await find(id);
      expect([hit?.type, hit?.id, hit?.title]).toEqual(['event', id, type]);
      expect([hit?.path, (await ask('GET', hit?.path ?? '', own.key)).status]).toEqual([hit?.path, 200]);
      expect(await find(id, strange.key)).toEqual([]);
      types.add(type);
    }
    expect([...types]).toEqual(expect.arrayContaining(['message.accepted', 'api_key.created', 'domain.verified']));
  });

  test.each<readonly [string, () => string, string]>([
    ['a Message-ID', () => `<${own.messageId}@own.test>`, 'message'],
    ['a request id', () => own.requestId, 'messages'],
    ['a recipient', () => 'ANN@example.org', 'messages'],
    ['a sender', () => 'shop@own.test', 'messages'],
    ['a suppressed address', () => 'bob@example.org', 'suppression'],
    ['a sender of inbound mail', () => 'Zoe@example.org', 'inbound_messages'],
    ['a recipient of inbound mail', () => 'support@own.test', 'inbound_messages'],
    ['a recipient domain', () => 'example.org', 'messages'],
    ['words of a subject', () => 'order  YOUR', 'messages'],
    ['a tag', () => 'order:nr-own', 'tag'],
    ['the beginning of a tag', () => 'ORDER:nr', 'tag'],
    ['the beginning of the name of a key', () => 'shop %', 'api_key'],
    ['the beginning of a domain', () => 'own.t', 'domain'],
    ['the beginning of an alias', () => 'WELCOME-', 'template'],
    ['the beginning of a name of a template', () => 'greet', 'template'],
    ['the URL of a webhook', () => 'https://localhost/ow', 'webhook'],
    ['the host of a webhook', () => 'LocalH', 'webhook'],
    ['the beginning of a topic', () => 'news', 'topic'],
  ])('resolves %s, only in its own organization', async (_, text, type) => {
    const hits = await find(text());
    expect(hits.map((hit) => hit.type)).toContain(type);
    for (const { path } of hits) expect([path, (await ask('GET', path, own.key)).status]).toEqual([path, 200]);
    const ofStranger = JSON.stringify(await find(text(), strange.key));
    for (const [name, id] of Object.entries(own)) if (name.endsWith('Id')) expect(ofStranger).not.toContain(id);
  });

  test('finds a refused request by its id, for its own organization', async () => {
    const { status, requestId } = await ask('POST', '/v1/messages/send', own.key, { from: 'shop@own.test' });
    expect(status).toBe(400);
    const id = String(requestId);
    await ask('GET', `/v1/requests/${id}`, own.key); // refused requests are recorded in batches
    expect(await find(id)).toEqual([
      { type: 'request', id, title: expect.stringMatching(/^[a-z_]+$/), path: `/v1/requests/${id}`, message: null },
    ]);
    expect(await find(id, strange.key)).toEqual([]);
  });

  test('treats nothing as a wildcard, and finds nothing if nothing matches', async () => {
    for (const q of ['%', 'hop _', 'wn.test', '550', '5.1.1', 'nobody@example.com', 'nowhere.example', '   ', '😀'])
      expect([q, await find(q)]).toEqual([q, []]);
  });

  test.each([
    ['no q', ''],
    ['321 characters', `?q=${'a'.repeat(321)}`],
    ['NUL', '?q=a%00'],
    ['a line break', '?q=a%0D%0Ab'],
    ['two of them', '?q=a&q=b'],
    ['another parameter', '?q=a&limit=1'],
  ])('refuses %s', async (_, query) => {
    expect((await ask('GET', `/v1/search${query}`, own.key)).code).toBe('invalid_request');
  });

  test('finds for a key that only sends and reads what it may read', async () => {
    expect(await shown(own.messageId, own.sender)).toEqual([['message', own.messageId]]);
    expect(await shown(own.inboundId, own.sender)).toEqual([['inbound_message', own.inboundId]]);
    for (const id of [own.keyId, own.domainId, own.templateId, own.webhookId, own.topicId, own.inboundRouteId])
      expect(await find(id, own.sender)).toEqual([]);
    for (const q of ['own.t', 'greet', 'news']) expect(await find(q, own.sender)).toEqual([]);
    expect(await find('shop', own.sender)).toMatchObject([{ type: 'messages', path: '/v1/messages?from=shop' }]);
  });

  test('keeps the environments apart, save for keys, domains and templates', async () => {
    for (const id of [own.messageId, own.webhookId, own.suppressionId, own.keyId, own.inboundId])
      expect(await find(id, own.testKey)).toEqual([]);
    expect(await shown('trial')).toEqual([['api_key', expect.any(String)]]);
    expect(await shown(own.domainId, own.testKey)).toEqual([['domain', own.domainId]]);
  });

  test('finds nothing by contents for roles that see none', async () => {
    const { link } = await made('/v1/members', own.key, { email: 'cleo@example.net', role: 'auditor' });
    const cookie = cookieOf(await signInWith(service, link.url));
    const findAs = async (q: string) => {
      const url = `/v1/search?q=${encodeURIComponent(q)}`;
      const answer = await service.request({ method: 'GET', url, headers: { cookie, ...SAME_ORIGIN } });
      expect([q, answer.statusCode]).toEqual([q, 200]);
      return answer.json().data;
    };
    for (const q of [
      'zoe@example.org',
      own.inboundId,
      'ann@example.org',
      'shop@own.test',
      'bob@example.org',
      'Your Order',
      'order:nr-own',
      'order:',
    ])
      expect([q, await findAs(q)]).toEqual([q, []]);
    const path = `/v1/messages/${own.messageId}`;
    expect(await findAs(own.messageId)).toMatchObject([{ type: 'message', title: own.messageId, path }]);
    expect(await findAs('greet')).toMatchObject([{ type: 'template', id: own.templateId }]);
  });
});
