import { describe, expect, test } from 'vitest';
import type { EventContext } from '../../../src/domain/kernel/event-store.ts';
import type { WebhookEvent } from '../../../src/domain/kernel/events.ts';
import {
  adoptWebhook,
  deleteWebhook,
  disableWebhook,
  pauseWebhook,
  pingWebhook,
  rotateWebhookSecret,
  signingSecretIds,
  subscribesTo,
  updateWebhook,
  type Webhook,
  webhook,
} from '../../../src/domain/webhook/webhook.ts';
import { contextAt, specify } from '../../support/specification.ts';

const registered = {
  type: 'WebhookRegistered',
  data: {
    webhookId: 'whk_1',
    environment: 'live',
    url: 'https://example.com/hook',
    events: ['message.*'],
    description: null,
    secretId: 'secret-1',
  },
} satisfies WebhookEvent;
const mine = { organizationId: 'org_mine', environment: 'live' } as const;

describe('a webhook', () => {
  const { given } = specify(webhook);
  test.each([
    [['message.*'], 'message.delivered', true],
    [['message.delivered'], 'message.delivered', true],
    [['message.delivered'], 'message.deferred', false],
    [['message.*'], 'domain.verified', false],
    [['mess.*'], 'message.delivered', false],
    [['webhook.*'], 'webhook.ping', false],
  ])('that asked for %j gets %s: %s', (events, type, expected) => {
    expect(subscribesTo(events, type)).toBe(expected);
  });
  test('is enabled since it was registered, or enabled or adopted last', () => {
    const at = (occurredAt: string): EventContext => ({ ...contextAt(occurredAt), organizationId: 'org_mine' });
    const data = { webhookId: 'whk_1' };
    const events: readonly WebhookEvent[] = [
      registered,
      { type: 'WebhookDisabled', data: { ...data, reason: 'failing' } },
      { type: 'WebhookEnabled', data },
      { type: 'WebhookPaused', data: { ...data, keyId: 'key_1' } },
      { type: 'WebhookAdopted', data },
      { type: 'WebhookAdopted', data },
    ];
    let state = webhook.initial;
    const since = events.map((event, day) => {
      state = webhook.evolve(state, event, at(`2026-01-0${day + 1}T00:00:00.000Z`), '1');
      return state.status === 'absent' ? null : [state.status, Number(state.enabledAt.slice(8, 10))];
    });
    expect(since).toEqual([
      ['enabled', 1],
      ['disabled', 1],
      ['enabled', 3],
      ['paused', 3],
      ['enabled', 5],
      ['enabled', 5],
    ]);
  });
  test('belongs to the last actor that changed what it receives, not to one that described it', () => {
    const by = (actor: string): EventContext => ({ ...contextAt('2026-01-01T00:00:00.000Z'), actor });
    const after = (data: object): unknown => {
      const changed = { type: 'WebhookUpdated', data: { webhookId: 'whk_1', ...data } } as const;
      const before = webhook.evolve(webhook.initial, registered, by('key:key_1'));
      const state = webhook.evolve(before, changed, by('key:key_2'));
      return state.status === 'absent' ? null : state.ownedBy;
    };
    expect(after({ description: 'Orders' })).toBe('key:key_1');
    expect(after({ description: 'Orders', url: 'https://example.com/other' })).toBe('key:key_2');
    expect(after({ headers: { names: ['X-Key'], secretId: 'secret-2' } })).toBe('key:key_2');
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
  test('changes only what differs', () => {
    given([registered])
      .when((state) => updateWebhook(state, mine, { url: 'https://example.com/hook', events: ['domain.*'] }))
      .thenEvents({ type: 'WebhookUpdated', data: { webhookId: 'whk_1', events: ['domain.*'] } });
    given([registered])
      .when((state) => updateWebhook(state, mine, { description: null, headers: null, enabled: true }))
      .thenNothing();
    given([registered])
      .when((state) => updateWebhook(state, { ...mine, environment: 'test' }, { enabled: false }))
      .thenRefused('not_found');
  });
  test('is disabled by request, and enabled again with another address at once', () => {
    const disabled: WebhookEvent = { type: 'WebhookDisabled', data: { webhookId: 'whk_1', reason: 'requested' } };
    given([registered])
      .when((state) => updateWebhook(state, mine, { enabled: false }))
      .thenEvents(disabled);
    given([registered, disabled])
      .when((state) => updateWebhook(state, mine, { enabled: true, url: 'https://example.com/new' }))
      .thenEvents(
        { type: 'WebhookUpdated', data: { webhookId: 'whk_1', url: 'https://example.com/new' } },
        { type: 'WebhookEnabled', data: { webhookId: 'whk_1' } },
      );
    given([registered, disabled])
      .when((state) => pingWebhook(state, mine))
      .thenRefused('webhook_disabled');
  });

  test('is paused only for the key that owns it, and adopted by an actor without bounds', () => {
    const paused: WebhookEvent = { type: 'WebhookPaused', data: { webhookId: 'whk_1', keyId: 'key_test' } };
    const adopted: WebhookEvent = { type: 'WebhookAdopted', data: { webhookId: 'whk_1' } };
    const free = { allowedCidrs: [], expiresAt: null };
    const adopt = (actor: string, bounds: Parameters<typeof adoptWebhook>[2]['bounds']) => (state: Webhook) =>
      adoptWebhook(state, mine, { actor, bounds });
    given([registered])
      .when((state) => pauseWebhook(state, 'key_test'))
      .thenEvents(paused);
    given([registered])
      .when((state) => pauseWebhook(state, 'key_other'))
      .thenNothing();
    given([registered, paused])
      .when((state) => pauseWebhook(state, 'key_test'))
      .thenNothing();
    given([registered, paused])
      .when((state) => updateWebhook(state, mine, { enabled: true }))
      .thenRefused('webhook_disabled');
    for (const bounds of [
      { ...free, expiresAt: '2099-01-01T00:00:00.000Z' },
      { ...free, allowedCidrs: ['192.0.2.0/24'] },
    ]) {
      given([registered, paused]).when(adopt('key:key_2', bounds)).thenRefused('wider_than_own_key');
    }
    given([registered, paused]).when(adopt('key:key_2', free)).thenEvents(adopted);
    given([registered, paused]).when(adopt('member:mbr_1', null)).thenEvents(adopted);
    given([registered]).when(adopt('key:key_test', free)).thenNothing();
    given([registered, paused, adopted])
      .when((state) => pingWebhook(state, mine))
      .thenEvents({ type: 'WebhookPinged', data: { webhookId: 'whk_1' } });
  });

  test('in the format of SendGrid is never subscribed to events that the format does not have', () => {
    const inFormat: WebhookEvent = {
      type: 'WebhookRegistered',
      data: { ...registered.data, events: ['message.delivered'], format: 'sendgrid' },
    };
    given([inFormat])
      .when((state) => updateWebhook(state, mine, { events: ['message.delivered', 'domain.verified'] }))
      .thenRefused('invalid_request');
    given([inFormat])
      .when((state) => updateWebhook(state, mine, { events: ['message.bounced'] }))
      .thenEvents({ type: 'WebhookUpdated', data: { webhookId: 'whk_1', events: ['message.bounced'] } });
  });

  const rotated = (secretId: string, previousExpiresAt: string): WebhookEvent => ({
    type: 'WebhookSecretRotated',
    data: { webhookId: 'whk_1', secretId, previousExpiresAt },
  });
  const stateAfter = (events: readonly WebhookEvent[]): Webhook => {
    const context = { organizationId: 'org_mine', occurredAt: '2026-11-22T00:00:00.000Z' } as EventContext;
    return events.reduce((state, event) => webhook.evolve(state, event, context), webhook.initial);
  };

  test('keeps a previous secret that signs until its grace period ends, and two of them at most', () => {
    const now = '2026-11-22T00:00:00.000Z';
    const later = '2026-11-22T01:00:00.000Z';
    given([registered])
      .when((state) => rotateWebhookSecret(state, mine, { secretId: 'secret-2', gracePeriodMinutes: 60, now }))
      .thenEvents(rotated('secret-2', later));
    const twice = [registered, rotated('secret-2', later), rotated('secret-3', later)];
    given(twice)
      .when((state) => rotateWebhookSecret(state, mine, { secretId: 'secret-4', gracePeriodMinutes: 1, now }))
      .thenRefused('too_many_live_secrets');
    given(twice)
      .when((state) => rotateWebhookSecret(state, mine, { secretId: 'secret-4', gracePeriodMinutes: 0, now }))
      .thenEvents(rotated('secret-4', now));
    const state = stateAfter(twice);
    if (state.status === 'absent') throw new Error('it is there');
    expect(signingSecretIds(state, new Date(now))).toEqual(['secret-3', 'secret-1', 'secret-2']);
    expect(signingSecretIds(state, new Date(later))).toEqual(['secret-3']);
  });
});
