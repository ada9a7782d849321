import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/context.ts';
import { pingWebhook, registerWebhook, updateWebhook } from '../../../src/commands/webhook.ts';
import { until } from '../delivering.ts';
import type { Service } from '../service.ts';
import { receiver, service } from './opened.ts';

const environment = 'test';
const originOf = ({ organizationId }: Service): Origin => ({
  ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
});

describe('a webhook', () => {
  test('gets custom headers, which never replace those of the service', async () => {
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

  test('gets events of the tags and domains that it filters by, and no others', async () => {
    const outbox = await service();
    const [tagged, ofDomain, ofAnother] = [await receiver(), await receiver(), await receiver()];
    outbox.workers().start();
    const register = (url: string, filters: { domains: { id: string; name: string }[]; tags: string[] }) =>
      registerWebhook(outbox.context, originOf(outbox), {
        ...{ url, events: ['message.accepted'], description: null, environment, filters },
      });
    await register(tagged.url, { domains: [], tags: ['kind:receipt', 'kind:other'] });
    await register(ofDomain.url, { domains: [{ id: 'dom_1', name: 'example.test' }], tags: [] });
    await register(ofAnother.url, { domains: [{ id: 'dom_2', name: 'another.test' }], tags: [] });
    await outbox.send('ann@example.org', environment);
    const receipt = await outbox.send('bob@example.org', environment, 'Thanks', {
      tags: [{ name: 'kind', value: 'receipt' }],
    });
    await until(() => expect(ofDomain.posts).toHaveLength(2));
    await until(() => expect(tagged.posts).toHaveLength(1));
    await sleep(300);
    expect(tagged.posts.map(({ json }) => json.data.message_id)).toEqual([receipt]);
    expect(ofAnother.posts).toHaveLength(0);
  });

  test('that is pinged gets the ping alone, whatever it subscribes to', async () => {
    const outbox = await service();
    const [pinged, other] = [await receiver(), await receiver()];
    outbox.workers().start();
    const { webhook } = await outbox.webhook(pinged.url, ['message.accepted'], environment);
    await outbox.webhook(other.url, ['webhook.*'], environment);
    const named = { webhookId: webhook.webhookId, environment } as const;
    const eventId = await pingWebhook(outbox.context, originOf(outbox), named);
    await until(() => expect(pinged.types()).toEqual(['webhook.ping']));
    expect(pinged.posts[0]?.json).toMatchObject({ id: eventId, data: { webhook_id: webhook.webhookId } });
    await sleep(300);
    expect(other.types()).not.toContain('webhook.ping');
  });

  test('that is disabled gets nothing; enabled at another address, it gets there what waited', async () => {
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
    await sleep(800);
    expect(before.posts).toHaveLength(1);
    await change({ enabled: true, url: after.url });
    await until(() => expect(after.posts).toHaveLength(1));
    await sleep(300);
    expect(after.posts.map(({ json }) => json.data.message_id)).toEqual([waiting]);
  });
});
