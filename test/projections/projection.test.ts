import { describe, expect, test } from 'vitest';
import { apiKey } from '../../src/domain/api-key/api-key.ts';
import { fold } from '../../src/domain/kernel/aggregate.ts';
import type { OutboxEvent } from '../../src/domain/kernel/events.ts';
import { sendingDomain } from '../../src/domain/sending-domain/sending-domain.ts';
import { webhook } from '../../src/domain/webhook/webhook.ts';
import { apiKeysProjection, listApiKeys } from '../../src/projections/api-keys.ts';
import { domainsProjection, listDomains } from '../../src/projections/domains.ts';
import { listWebhooks, webhooksProjection } from '../../src/projections/webhooks.ts';
import { keyCreated, keyRevoked, keyRotated } from '../support/controls/api-key.ts';
import { openApplied } from './support/applied.ts';

const PAGE = { organizationId: 'org_mine', limit: 25, after: null };
const LATER = '2026-11-21T13:00:00.000Z';

describe('the list of API keys', () => {
  const all = { ...PAGE, environment: null };

  test('shows a key as folded from its stream, after each of its events', async () => {
    const { given, pool, store } = await openApplied(apiKeysProjection);
    for (const event of [keyCreated(), keyRotated(1, LATER), keyRotated(2, LATER, true), keyRevoked]) {
      await given('apiKey-key_1', [event]);
      const { items } = await listApiKeys(pool, all);
      expect(items).toEqual([fold(apiKey, await store.readStream('apiKey-key_1'))]);
    }
  });

  test('shows both environments or one', async () => {
    const { given, pool } = await openApplied(apiKeysProjection);
    await given('apiKey-key_1', [keyCreated()]);
    await given('apiKey-key_2', [keyCreated({ keyId: 'key_2', environment: 'test' })], { occurredAt: LATER });
    expect((await listApiKeys(pool, all)).items.map(({ keyId }) => keyId)).toEqual(['key_2', 'key_1']);
    expect((await listApiKeys(pool, { ...all, environment: 'test' })).items.map(({ keyId }) => keyId)).toEqual([
      'key_2',
    ]);
    const first = await listApiKeys(pool, { ...all, limit: 1 });
    expect(first).toMatchObject({ hasMore: true, next: { createdAt: LATER, id: 'key_2' } });
    expect((await listApiKeys(pool, { ...all, after: first.next })).items.map(({ keyId }) => keyId)).toEqual(['key_1']);
  });
});

test('the list of domains shows a domain as folded from its stream, and only its own domain to a bound key', async () => {
  const { given, pool, store } = await openApplied(domainsProjection);
  const all = { ...PAGE, domainId: null };
  const events: readonly OutboxEvent[] = [
    { type: 'DomainRegistered', data: { domainId: 'dom_1', name: 'a.test', token: 't', dkim: [] } },
    { type: 'DomainVerified', data: { domainId: 'dom_1', name: 'a.test', method: 'dns' } },
  ];
  for (const event of events) {
    await given('domain-dom_1', [event]);
    expect((await listDomains(pool, all)).items).toEqual([fold(sendingDomain, await store.readStream('domain-dom_1'))]);
  }
  await given('domain-dom_2', [
    { type: 'DomainRegistered', data: { domainId: 'dom_2', name: 'b.test', token: 't', dkim: [] } },
  ]);
  expect((await listDomains(pool, all)).items.map(({ domainId }) => domainId)).toEqual(['dom_2', 'dom_1']);
  expect((await listDomains(pool, { ...all, domainId: 'dom_1' })).items.map(({ domainId }) => domainId)).toEqual([
    'dom_1',
  ]);
});

test('the list of webhooks shows an endpoint as folded from its stream, until it is deleted', async () => {
  const { given, pool, store } = await openApplied(webhooksProjection);
  const all = { ...PAGE, environment: 'live' as const };
  const registered: OutboxEvent = {
    type: 'WebhookRegistered',
    data: {
      webhookId: 'whk_1',
      environment: 'live',
      url: 'https://a.test',
      events: ['message.*'],
      description: null,
      secretId: 's',
    },
  };
  await given('webhook-whk_1', [registered]);
  expect((await listWebhooks(pool, all)).items).toEqual([fold(webhook, await store.readStream('webhook-whk_1'))]);
  await given('webhook-whk_1', [{ type: 'WebhookDisabled', data: { webhookId: 'whk_1', reason: 'failing' } }]);
  expect((await listWebhooks(pool, all)).items).toMatchObject([{ status: 'disabled' }]);
  await given('webhook-whk_1', [{ type: 'WebhookDeleted', data: { webhookId: 'whk_1' } }]);
  expect((await listWebhooks(pool, all)).items).toEqual([]);
});
