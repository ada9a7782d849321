import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { load } from '../../../src/commands/execute.ts';
import { webhookStream } from '../../../src/domain/kernel/streams.ts';
import type { WebhookDelivery } from '../../../src/domain/ports/webhooks.ts';
import { webhook } from '../../../src/domain/webhook/webhook.ts';
import { statuses, until } from '../delivering.ts';
import type { Service } from '../service.ts';
import { dueDeliveriesPosted, receiver, service } from './opened.ts';

const deliveriesOf = async ({ dependencies }: Service, webhookId: string): Promise<readonly WebhookDelivery[]> =>
  (await dependencies.webhookDeliveries.list({ webhookId, limit: 100 })).deliveries;

/** Milliseconds until the newest delivery is due, or 0 if it has ended. */
const untilNextTry = async (outbox: Service, webhookId: string): Promise<number> => {
  const [newest] = await deliveriesOf(outbox, webhookId);
  return Math.max(0, Number(newest?.dueAt ?? 0) - outbox.system.now().getTime());
};

const DAY_MS = 24 * 3_600_000;

const DELIVERED = ['message.accepted', 'message.sending', 'message.delivered'];

describe('a webhook', () => {
  test('receives the events it subscribes to, signed so that the public library verifies them', async () => {
    const outbox = await service();
    const endpoint = await receiver();
    const earlier = await outbox.send('earlier@example.org', 'test');
    outbox.workers().start();
    await until(async () => expect(await statuses(outbox, earlier)).toEqual(['delivered']));
    const { secret } = await outbox.webhook(endpoint.url, ['message.accepted', 'message.delivered'], 'test');
    const id = await outbox.send('ann@example.org', 'test');
    await until(() => expect(endpoint.types().toSorted()).toEqual(['message.accepted', 'message.delivered']));
    for (const { headers, body, json } of endpoint.posts) {
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual(json);
      expect(headers['webhook-id']).toBe(json.id);
      expect(json.data).toMatchObject({ message_id: id, recipient: { address: 'ann@example.org', kind: 'to' } });
    }
    const delivered = endpoint.posts.find(({ json }) => json.type === 'message.delivered');
    expect(delivered?.json.data).toMatchObject({ smtp: { code: 250, text: 'simulated: accepted' } });
  });

  test('receives no events of the other environment, or of types it does not subscribe to', async () => {
    const outbox = await service();
    const [all, live] = [await receiver(), await receiver()];
    outbox.workers().start();
    await outbox.webhook(all.url, ['message.*'], 'test');
    await outbox.webhook(live.url, ['message.*', 'webhook.*'], 'live');
    await outbox.send('ann@example.org', 'test');
    await until(() => expect(all.types().toSorted()).toEqual(DELIVERED.toSorted()));
    expect(live.types()).toEqual(['webhook.created']);
  });

  test('that fails is retried until it answers 2xx, and every attempt is kept', async () => {
    const outbox = await service();
    const endpoint = await receiver((_post, count) =>
      count === 1 ? { status: 503, body: 'x'.repeat(5000) } : { status: 200, body: 'thanks' },
    );
    outbox.workers().start();
    const { webhook: registered } = await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    await outbox.send('ann@example.org', 'test');
    await until(async () => expect((await deliveriesOf(outbox, registered.webhookId))[0]?.tries).toHaveLength(1));
    const [waiting] = await deliveriesOf(outbox, registered.webhookId);
    expect(waiting?.state).toBe('pending');
    expect(waiting?.tries[0]?.text).toHaveLength(1024);
    const waitMs = Number(waiting?.dueAt) - Number(waiting?.tries[0]?.at);
    expect(waitMs).toBeGreaterThan(3500);
    expect(waitMs).toBeLessThan(5600);
    outbox.system.shift(6000);
    await until(async () => {
      const [delivery] = await deliveriesOf(outbox, registered.webhookId);
      expect(delivery).toMatchObject({ state: 'delivered', tries: [{ status: 503 }, { status: 200, text: 'thanks' }] });
    });
    expect(new Set(endpoint.posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  test('is not retried before its Retry-After', async () => {
    const outbox = await service();
    const endpoint = await receiver(() => ({ status: 429, headers: { 'retry-after': '3600' } }));
    outbox.workers().start();
    const { webhook: registered } = await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    await outbox.send('ann@example.org', 'test');
    await until(async () => {
      const [delivery] = await deliveriesOf(outbox, registered.webhookId);
      expect(Number(delivery?.dueAt) - outbox.system.now().getTime()).toBeGreaterThan(3_500_000);
    });
  });

  test('that never answers 2xx fails after the last retry', async () => {
    const outbox = await service();
    const endpoint = await receiver(() => ({ status: 500 }));
    outbox.workers().start();
    const { webhook: registered } = await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    await outbox.send('ann@example.org', 'test');
    for (let tries = 1; tries <= 11; tries += 1) {
      await until(async () => expect((await deliveriesOf(outbox, registered.webhookId))[0]?.tries).toHaveLength(tries));
      outbox.system.shift(await untilNextTry(outbox, registered.webhookId));
    }
    expect((await deliveriesOf(outbox, registered.webhookId))[0]).toMatchObject({ state: 'failed', dueAt: null });
    await dueDeliveriesPosted(outbox);
    expect(endpoint.posts).toHaveLength(11);
  });

  test('that answers 410 is disabled, the delivery fails, and nothing is posted again', async () => {
    const outbox = await service();
    const endpoint = await receiver(() => ({ status: 410 }));
    outbox.workers().start();
    const { webhook: registered } = await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    await outbox.send('ann@example.org', 'test');
    await until(async () => {
      const { state } = await load(outbox.context.store, webhook, webhookStream(registered.webhookId));
      expect(state.status).toBe('disabled');
    });
    expect(await deliveriesOf(outbox, registered.webhookId)).toMatchObject([
      { state: 'failed', dueAt: null, tries: [{ status: 410 }] },
    ]);
    outbox.system.shift(60_000);
    await outbox.send('bob@example.org', 'test');
    await dueDeliveriesPosted(outbox);
    expect(endpoint.posts).toHaveLength(1);
  });

  test('that has failed for five days without a success is disabled, and not before', async () => {
    const outbox = await service();
    const answers = [500, 500, 204];
    const endpoint = await receiver(() => ({ status: answers.shift() ?? 500 }));
    outbox.workers().start();
    const { webhook: registered } = await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    const { webhookId } = registered;
    const status = async () => (await load(outbox.context.store, webhook, webhookStream(webhookId))).state.status;
    const posts = async (count: number): Promise<void> => {
      await until(() => expect(endpoint.posts).toHaveLength(count));
      await until(async () =>
        expect((await deliveriesOf(outbox, webhookId)).flatMap(({ tries }) => tries)).toHaveLength(count),
      );
    };
    await outbox.send('ann@example.org', 'test');
    await posts(1);
    outbox.system.shift(DAY_MS);
    await posts(2);
    outbox.system.shift(5 * DAY_MS);
    await posts(3); // a success, so earlier failures no longer count
    await outbox.send('bob@example.org', 'test');
    await posts(4);
    outbox.system.shift(5 * DAY_MS - 60_000);
    await posts(5);
    outbox.system.shift(DAY_MS);
    await posts(6); // it was still enabled
    await until(async () => expect(await status()).toBe('disabled'));
    const history = await outbox.context.store.readStream(webhookStream(webhookId));
    expect(history.at(-1)).toMatchObject({ type: 'WebhookDisabled', data: { reason: 'failing' } });
    outbox.system.shift(DAY_MS);
    await dueDeliveriesPosted(outbox);
    expect(endpoint.posts).toHaveLength(6);
  });

  test('is not followed when it redirects', async () => {
    const outbox = await service();
    const elsewhere = await receiver();
    const endpoint = await receiver(() => ({ status: 307, headers: { location: elsewhere.url } }));
    outbox.workers().start();
    const { webhook: registered } = await outbox.webhook(endpoint.url, ['message.accepted'], 'test');
    await outbox.send('ann@example.org', 'test');
    await until(async () => {
      const [delivery] = await deliveriesOf(outbox, registered.webhookId);
      expect(delivery).toMatchObject({ state: 'pending', tries: [{ status: 307 }] });
    });
    expect(elsewhere.posts).toHaveLength(0);
  });

  test('that is slow delays no other', async () => {
    const outbox = await service();
    const slow = await receiver(async () => sleep(6000, { status: 200 }));
    const quick = await receiver();
    outbox.workers().start();
    await outbox.webhook(slow.url, ['message.*'], 'test');
    await outbox.webhook(quick.url, ['message.accepted'], 'test');
    await Promise.all(Array.from({ length: 100 }, (_, index) => outbox.send(`u${index}@example.org`, 'test')));
    const startedMs = performance.now();
    await until(() => expect(quick.posts).toHaveLength(100));
    expect(performance.now() - startedMs).toBeLessThan(5500);
    expect(slow.posts.length).toBeLessThanOrEqual(8);
  });
});
