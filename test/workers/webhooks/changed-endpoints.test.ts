import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/execute.ts';
import { pingWebhook, registerWebhook, updateWebhook } from '../../../src/commands/webhook.ts';
import { until } from '../delivering.ts';
import type { Service } from '../service.ts';
import { dueDeliveriesPosted, receiver, service } from './opened.ts';

const environment = 'test';
const originOf = ({ organizationId }: Service): Origin => ({
  ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
});

describe('a webhook', () => {
  test('receives custom headers, which never replace those of the service', async () => {
    const outbox = await service();
    const endpoint = await receiver();
    outbox.workers().start();
    const { webhook } = await registerWebhook(outbox.context, originOf(outbox), {
      ...{ url: endpoint.url, events: ['message.accepted'], description: null, environment },
      headers: { authorization: 'Bearer s3cret', 'webhook-id': 'forged' },
    });
    expect(JSON.stringify(webhook)).not.toContain('s3cret');
    await outbox.send('ann@example.org', environment);
    await until(() => expect(endpoint.posts).toHaveLength(1));
    const [post] = endpoint.posts;
    expect(post?.headers.authorization).toBe('Bearer s3cret');
    expect(post?.headers['webhook-id']).toBe(post?.json.id);
  });

  test('receives events of the tags and domains in its filter, and no others', async () => {
    const outbox = await service();
    const [tagged, ofDomain, ofAnother] = [await receiver(), await receiver(), await receiver()];
    outbox.workers().start();
    const register = (url: string, filters: { domains: { id: string; name: string }[]; tags: string[] }) =>
      registerWebhook(outbox.context, originOf(outbox), {
        ...{ url, events: ['message.accepted'], description: null, environment, filters },
      });
    await register(tagged.url, { domains: [], tags: ['kind:receipt', 'kind:other'] });
    await register(ofDomain.url, { domains: [{ id: 'dom_1', name: 'example.test' }], tags: [] });
    const { webhook: another } = await register(ofAnother.url, {
      domains: [{ id: 'dom_2', name: 'another.test' }],
      tags: [],
    });
    await outbox.send('ann@example.org', environment);
    const receipt = await outbox.send('bob@example.org', environment, 'Thanks', {
      tags: [{ name: 'kind', value: 'receipt' }],
    });
    const other = await outbox.send('carl@example.org', environment, 'Thanks', {
      tags: [{ name: 'kind', value: 'other' }],
    });
    await pingWebhook(outbox.context, originOf(outbox), { webhookId: another.webhookId, environment });
    await until(() => expect(ofDomain.posts).toHaveLength(3));
    await until(() => expect(tagged.posts.length).toBeGreaterThanOrEqual(2));
    expect(tagged.posts.map(({ json }) => json.data.message_id).toSorted()).toEqual([receipt, other].toSorted());
    // Posts to one endpoint start in order: the ping is its first.
    await until(() => expect(ofAnother.types()).toEqual(['webhook.ping']));
  });

  test('receives only the ping when it is pinged, whatever events it subscribes to', async () => {
    const outbox = await service();
    const [pinged, other] = [await receiver(), await receiver()];
    outbox.workers().start();
    const { webhook } = await outbox.webhook(pinged.url, ['message.accepted'], environment);
    const { webhook: notPinged } = await outbox.webhook(other.url, ['webhook.*'], environment);
    const named = { webhookId: webhook.webhookId, environment } as const;
    const eventId = await pingWebhook(outbox.context, originOf(outbox), named);
    await until(() => expect(pinged.types()).toEqual(['webhook.ping']));
    expect(pinged.posts[0]?.json).toMatchObject({ id: eventId, data: { webhook_id: webhook.webhookId } });
    const own = { webhookId: notPinged.webhookId, environment } as const;
    const ownEventId = await pingWebhook(outbox.context, originOf(outbox), own);
    const pings = () => other.posts.filter(({ json }) => json.type === 'webhook.ping').map(({ json }) => json.id);
    await until(() => expect(pings()).toEqual([ownEventId]));
    expect(pinged.types()).toEqual(['webhook.ping']);
  });

  test('receives nothing while disabled, and gets pending events at its new address once enabled again', async () => {
    const outbox = await service();
    const [before, after] = [await receiver(() => ({ status: 500 })), await receiver()];
    outbox.workers().start();
    const { webhook } = await outbox.webhook(before.url, ['message.accepted'], environment);
    const change = (changes: { readonly url?: string; readonly enabled: boolean }) =>
      updateWebhook(outbox.context, originOf(outbox), { webhookId: webhook.webhookId, environment, ...changes });
    const waiting = await outbox.send('ann@example.org', environment);
    await until(() => expect(before.posts).toHaveLength(1));
    await change({ enabled: false });
    await outbox.send('while.disabled@example.org', environment);
    outbox.system.shift(60_000);
    await dueDeliveriesPosted(outbox);
    expect(before.posts).toHaveLength(1);
    await change({ enabled: true, url: after.url });
    await until(() => expect(after.posts).toHaveLength(1));
    const later = await outbox.send('later@example.org', environment);
    await until(() => expect(after.posts.length).toBeGreaterThanOrEqual(2));
    expect(after.posts.map(({ json }) => json.data.message_id)).toEqual([waiting, later]);
  });
});
