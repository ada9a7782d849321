import { afterAll, beforeAll, expect, test } from 'vitest';
import { registerWebhook } from '../../src/commands/webhook.ts';
import { DomainError } from '../../src/domain/kernel/errors.ts';
import { createInMemoryInbox } from '../support/in-memory/inbox.ts';
import { operator, type Service, startService } from './support/service.ts';

let service: Service;
let key: string;
let webhook: string;
const asked = new Set<string>();
let organizationId: string;

/** A service in which every organization has used up its share of queries. */
beforeAll(async () => {
  const base = await startService();
  const { readModels } = base.deps;
  await base.close();
  const inShareOf = async (owner: string): Promise<never> => {
    asked.add(owner);
    throw new DomainError('unavailable', 'too many lists');
  };
  service = await startService({
    inbox: createInMemoryInbox(),
    readModels: { ...readModels, inShareOf, waitFor: async () => true },
  });
  organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'a.test'))).value;
  const made = await registerWebhook(service.deps.context, operator(organizationId), {
    url: 'http://127.0.0.1/x',
    events: ['message.delivered'],
    environment: 'live',
    description: null,
  });
  webhook = made.webhook.webhookId;
});
afterAll(() => service.close());

const HEX = '0'.repeat(32);
const ID = 'a'.repeat(26);

test.each([
  'GET /v1/inbox',
  'GET /v1/inbox/1',
  'DELETE /v1/inbox',
  'DELETE /v1/inbox/1',
  'GET /v1/requests',
  'GET /v1/requests/counts',
  `GET /v1/requests/req_${HEX}`,
  'GET /v1/webhooks/WEBHOOK/deliveries',
  `GET /v1/webhooks/WEBHOOK/deliveries/dlv_${ID}`,
  'GET /v1/webhooks/WEBHOOK/replays',
  `GET /v1/webhooks/WEBHOOK/replays/rpl_${ID}`,
  `GET /v1/search?q=req_${HEX}`,
  `GET /v1/search?q=dlv_${ID}`,
])('%s queries within the share of its organization', async (route) => {
  asked.clear();
  const [method, url = ''] = route.split(' ') as ['GET' | 'DELETE', string];
  const { statusCode } = await service.request({ method, url: url.replace('WEBHOOK', webhook), key });
  expect(statusCode).toBe(503);
  expect([...asked]).toEqual([organizationId]);
});
