import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTopic } from '../../../src/commands/topic.ts';
import {
  apiKeyStream,
  messageStream,
  organizationStream,
  sendingDomainStream,
  topicStream,
  webhookStream,
} from '../../../src/domain/kernel/streams.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { type KeyTenant, makeDomain, openKeyTenant } from '../support/key-tenant.ts';
import { createMemoryStore, operator, type Service, startService } from '../support/service.ts';

/** Streams read since the last request began. */
const reads: string[] = [];
let service: Service;
let tenant: KeyTenant;
let sender: string;

beforeAll(async () => {
  const contents = createInMemoryContents();
  const store = createMemoryStore(contents);
  service = await startService({
    context: {
      contents,
      store: {
        ...store,
        readStream: (stream, options) => {
          reads.push(stream);
          return store.readStream(stream, options);
        },
      },
    },
  });
  tenant = await openKeyTenant(service);
  const domainId = await service.makeDomain(tenant.organizationId, 'loaded-once.test');
  sender = (await service.makeKey(tenant.organizationId, domainId)).value;
});
afterAll(() => service.close());

/** @returns the answer to a request, and the streams that were read for it. */
const ask = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, key = tenant.admin.value) => {
  reads.length = 0;
  const answer = await service.request({
    method,
    url,
    key,
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json(), reads: [...reads].sort() };
};

describe('a change of a key loads its stream once', () => {
  test.each([
    ['POST', '/rotate', { grace_period_minutes: 0 }],
    ['PATCH', '', { name: 'Other' }],
    ['POST', '/revoke', undefined],
    ['DELETE', '', undefined],
  ] as const)('%s %s', async (method, path, payload) => {
    const { id } = await tenant.make();
    const { status, reads } = await ask(method, `/v1/api-keys/${id}${path}`, payload);
    expect([Math.floor(status / 100), reads]).toEqual([2, [apiKeyStream(id)]]);
  });

  test('and the organization’s once if the key had admin', async () => {
    const { id } = await tenant.make({ permissions: ['admin'] });
    const { reads } = await ask('POST', `/v1/api-keys/${id}/revoke`);
    expect(reads).toEqual([apiKeyStream(id), organizationStream(tenant.organizationId)].sort());
  });
});

test.each([
  ['PATCH', '', { tracking: { clicks: true } }],
  ['POST', '/dkim/rotate', undefined],
] as const)('a change of a domain loads its stream once: %s %s', async (method, path, payload) => {
  const id = await makeDomain(service, tenant.organizationId);
  const { status, reads } = await ask(method, `/v1/domains/${id}${path}`, payload);
  expect([status, reads]).toEqual([200, [sendingDomainStream(id)]]);
});

test('deleting a domain loads its stream and the organization’s once', async () => {
  const id = await makeDomain(service, tenant.organizationId);
  const { status, reads } = await ask('DELETE', `/v1/domains/${id}`);
  expect(status).toBe(204);
  expect(reads).toEqual([sendingDomainStream(id), organizationStream(tenant.organizationId)].sort());
});

test.each([
  ['PATCH', '', { description: 'Orders' }],
  ['POST', '/rotate-secret', { grace_period_minutes: 0 }],
  ['POST', '/adopt', undefined],
  ['DELETE', '', undefined],
] as const)('a change of a webhook loads its stream once: %s %s', async (method, path, payload) => {
  const { body } = await ask('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.*'] });
  const { status, reads } = await ask(method, `/v1/webhooks/${body.id}${path}`, payload);
  expect([Math.floor(status / 100), reads]).toEqual([2, [webhookStream(body.id)]]);
});

test.each([
  ['PATCH', { name: 'Weekly offers' }],
  ['DELETE', undefined],
] as const)('a change of a topic loads its stream once: %s', async (method, payload) => {
  const { topic } = await createTopic(service.deps.context, operator(tenant.organizationId), {
    name: 'Offers',
    description: null,
    default: 'in',
    domainId: null,
  });
  const { status, reads } = await ask(method, `/v1/topics/${topic.topicId}`, payload);
  expect([Math.floor(status / 100), reads]).toEqual([2, [topicStream(topic.topicId)]]);
});

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

test.each([
  ['PATCH', '', { scheduled_at: inDays(8) }],
  ['POST', '/cancel', undefined],
] as const)('a change of a message loads its stream once: %s %s', async (method, path, payload) => {
  const mail = { from: 'shop@loaded-once.test', to: ['kim@example.net'], subject: 'Order', text: 'Thank you' };
  const sent = await ask('POST', '/v1/messages/send', { ...mail, scheduled_at: inDays(7) }, sender);
  const { status, reads } = await ask(method, `/v1/messages/${sent.body.id}${path}`, payload, sender);
  expect([status, reads]).toEqual([200, [messageStream(sent.body.id)]]);
});
