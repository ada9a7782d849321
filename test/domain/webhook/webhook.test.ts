import { describe, expect, test } from 'vitest';
import type { WebhookEvent } from '../../../src/domain/events.ts';
import { deleteWebhook, disableWebhook, subscribesTo, webhook } from '../../../src/domain/webhook/webhook.ts';
import { specify } from '../../support/specification.ts';

const registered: WebhookEvent = {
  type: 'WebhookRegistered',
  data: {
    webhookId: 'whk_1',
    environment: 'live',
    url: 'https://example.com/hook',
    events: ['message.*'],
    description: null,
    secretId: 'secret-1',
  },
};
const mine = { organizationId: 'org_mine', environment: 'live' } as const;

describe('a webhook', () => {
  const { given } = specify(webhook);
  test.each([
    [['message.*'], 'message.delivered', true],
    [['message.delivered'], 'message.delivered', true],
    [['message.delivered'], 'message.deferred', false],
    [['message.*'], 'domain.verified', false],
    [['mess.*'], 'message.delivered', false],
  ])('that asked for %j gets %s: %s', (events, type, expected) => {
    expect(subscribesTo(events, type)).toBe(expected);
  });
  test('can be deleted once', () => {
    given([registered])
      .when((state) => deleteWebhook(state, mine))
      .thenEvents({ type: 'WebhookDeleted', data: { webhookId: 'whk_1' } });
    given([registered, { type: 'WebhookDeleted', data: { webhookId: 'whk_1' } }])
      .when((state) => deleteWebhook(state, mine))
      .thenRefused('not_found');
  });
  test('of the other environment is not found', () => {
    given([registered])
      .when((state) => deleteWebhook(state, { ...mine, environment: 'test' }))
      .thenRefused('not_found');
  });
  test('of another organization is refused', () => {
    given([registered], 'org_other')
      .when((state) => deleteWebhook(state, mine))
      .thenRefused('other_organization');
  });
  test('is disabled once, and not when it is deleted', () => {
    given([registered])
      .when((state) => disableWebhook(state, 'gone'))
      .thenEvents({ type: 'WebhookDisabled', data: { webhookId: 'whk_1', reason: 'gone' } });
    given([registered, { type: 'WebhookDeleted', data: { webhookId: 'whk_1' } }])
      .when((state) => disableWebhook(state, 'gone'))
      .thenNothing();
  });
});
