import { describe, expect, test, vi } from 'vitest';
import { load, type Origin } from '../../../src/commands/execute.ts';
import { deleteWebhook, registerWebhook, updateWebhook } from '../../../src/commands/webhook.ts';
import { type CustomerEvent, customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import { webhookStream } from '../../../src/domain/kernel/streams.ts';
import type { WebhookDeliveries } from '../../../src/domain/ports/webhooks.ts';
import { webhook } from '../../../src/domain/webhook/webhook.ts';
import { type FeedEvent, type FeedPage, isAfter, type ReadFeed } from '../../../src/projections/events/queries.ts';
import { replayWebhooks } from '../../../src/workers/webhooks/record-webhook-deliveries.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import type { Service } from '../service.ts';
import { dueDeliveriesPosted, receiver, service } from './opened.ts';

const environment = 'test';
const originOf = ({ organizationId }: Service): Origin => ({
  ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
});
const until = (check: () => Promise<void> | void): Promise<void> => vi.waitFor(check, { timeout: 8000, interval: 20 });

/** The feed as read from the log, in small pages. */
const feedOf =
  ({ context: { store } }: Service, pageMax = 2) =>
  async ({ environment: own, after, types, limit }: ReadFeed): Promise<FeedPage> => {
    const { events } = await store.readAll({ from: LOG_START, filter: {}, limit: 100_000 });
    const all = events.flatMap((event) =>
      customerEvents(event).map(
        (shown, index): FeedEvent => ({ ...shown, domainId: null, cursor: { position: event.position, index } }),
      ),
    );
    const from = after ?? { position: LOG_START, index: 0 };
    const rest = all.filter(
      (event) =>
        event.environment === own && isAfter(event.cursor, from) && (types === null || types.includes(event.type)),
    );
    const items = rest.slice(0, Math.min(limit, pageMax));
    return { items, hasMore: rest.length > items.length, next: items.at(-1)?.cursor ?? from };
  };

const open = async (...answer: Parameters<typeof receiver>) => ({
  outbox: await service(),
  endpoint: await receiver(...answer),
});

const replayOf = async (outbox: Service, webhookId: string, since: Date | null = null, upTo?: string) => ({
  ...{ id: 'rpl_1', webhookId, since, until: new Date(Date.now() + 3_600_000), createdAt: new Date() },
  ...{ place: { position: LOG_START, index: 0 }, upTo: upTo ?? (await outbox.context.store.head()) },
});

/** Sends messages before the endpoint exists. */
const sendSome = async (outbox: Service, count: number): Promise<readonly string[]> => {
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1)
    ids.push(
      await outbox.send(`u${number}@example.org`, environment, 'Hello', { tags: [{ name: 'n', value: `${number}` }] }),
    );
  return ids;
};

const startReplay = async (
  { outbox, endpoint }: Awaited<ReturnType<typeof open>>,
  deliveries: WebhookDeliveries,
  since: Date | null = null,
) => {
  const { webhook } = await outbox.webhook(endpoint.url, ['message.accepted'], environment);
  await deliveries.startReplay(await replayOf(outbox, webhook.webhookId, since));
  return webhook;
};

const typesOf = async ({ context }: Service, webhookId: string): Promise<readonly string[]> =>
  (await context.store.readStream(webhookStream(webhookId))).map(({ type }) => type);

const eventsOf = async (outbox: Service): Promise<readonly CustomerEvent[]> => {
  const { events } = await outbox.context.store.readAll({ from: LOG_START, filter: {}, limit: 100_000 });
  return events.flatMap(customerEvents).filter(({ type }) => type === 'message.accepted');
};

describe('a replay', () => {
  test('posts past events with their ids, marked as replayed, each once, despite crashes', async () => {
    const opened = await open();
    const { outbox, endpoint } = opened;
    await sendSome(outbox, 5);
    const deliveries = createInMemoryWebhookDeliveries();
    const faults = [1, 3];
    let advanced = 0;
    const failing: WebhookDeliveries = {
      ...deliveries,
      advanceReplay: async (step) => {
        advanced += 1;
        const moved = await deliveries.advanceReplay(step);
        if (faults.includes(advanced)) throw new Error('the connection was lost');
        return moved;
      },
    };
    outbox.workers({ webhookDeliveries: failing, feed: feedOf(outbox) }).start();
    await startReplay(opened, deliveries);
    await until(() => expect(endpoint.posts).toHaveLength(5));
    await until(async () => expect(await deliveries.findReplay('rpl_1')).toMatchObject({ state: 'completed' }));
    await dueDeliveriesPosted(outbox, failing);
    expect(endpoint.posts.map(({ json }) => json.id).toSorted()).toEqual(
      (await eventsOf(outbox)).map(({ id }) => id).toSorted(),
    );
    expect(new Set(endpoint.posts.map(({ headers }) => headers['webhook-replay']))).toEqual(new Set(['rpl_1']));
    expect((await deliveries.findReplay('rpl_1'))?.counts).toEqual({ pending: 0, delivered: 5, failed: 0 });
  });

  test('omits events outside its period', async () => {
    const opened = await open();
    const { outbox, endpoint } = opened;
    await sendSome(outbox, 2);
    outbox.system.shift(3_600_000);
    const since = outbox.system.now();
    const [wanted] = await sendSome(outbox, 1);
    const deliveries = createInMemoryWebhookDeliveries();
    outbox.workers({ webhookDeliveries: deliveries, feed: feedOf(outbox) }).start();
    await deliveries.startReplay({
      ...(await replayOf(
        outbox,
        (
          await outbox.webhook(endpoint.url, ['message.accepted'], environment)
        ).webhook.webhookId,
        since,
      )),
      until: new Date(since.getTime() + 60_000),
    });
    await until(async () => expect(await deliveries.findReplay('rpl_1')).toMatchObject({ state: 'completed' }));
    await until(() => expect(endpoint.posts.map(({ json }) => json.data.message_id)).toEqual([wanted]));
  });

  test('posts at most 100 events a second', async () => {
    const opened = await open();
    const { outbox } = opened;
    await sendSome(outbox, 230);
    const deliveries = createInMemoryWebhookDeliveries();
    const { webhookId } = await startReplay(opened, deliveries);
    const { context, dependencies } = outbox;
    const { state } = await load(context.store, webhook, webhookStream(webhookId));
    const steps: string[] = [];
    const completed = new AbortController();
    const replay = replayWebhooks({
      ...{ store: context.store, contents: dependencies.contents, feed: feedOf(outbox, 1_000) },
      endpoints: { get: () => (state.status === 'absent' || state.status === 'deleted' ? undefined : state) },
      leadership: { isLeader: () => true },
      system: { ...outbox.system, sleep: async (ms) => void steps.push(`${ms} ms`) },
      webhookDeliveries: {
        ...deliveries,
        pendingOf: async () => 0,
        advanceReplay: (step) => {
          steps.push(`${step.owed.length} events`);
          if (step.isLast) completed.abort();
          return deliveries.advanceReplay(step);
        },
      },
    });
    await replay(completed.signal, () => undefined);
    expect(steps).toEqual(['100 events', '1000 ms', '100 events', '1000 ms', '30 events', '1000 ms']);
  });

  test('waits for a receiver that is 100 events behind', async () => {
    const opened = await open(() => ({ status: 503 }));
    const { outbox } = opened;
    await sendSome(outbox, 130);
    const deliveries = createInMemoryWebhookDeliveries();
    let rounds = 0;
    const counting: WebhookDeliveries = {
      ...deliveries,
      runningReplays: (ask) => {
        rounds += 1;
        return deliveries.runningReplays(ask);
      },
    };
    outbox.workers({ webhookDeliveries: counting, feed: feedOf(outbox, 1_000) }).start();
    const { webhookId } = await startReplay(opened, deliveries);
    await until(async () => expect(await deliveries.pendingOf(webhookId, 1_000)).toBe(100));
    const roundsBefore = rounds;
    await until(() => expect(rounds).toBeGreaterThanOrEqual(roundsBefore + 3));
    expect(await deliveries.pendingOf(webhookId, 1_000)).toBe(100);
  });

  test('posts what passes the filters of its webhook, and only types that it subscribes to', async () => {
    const { outbox, endpoint } = await open();
    const ids = await sendSome(outbox, 3);
    const { webhook } = await registerWebhook(outbox.context, originOf(outbox), {
      ...{ url: endpoint.url, events: ['message.accepted'], description: null, environment },
      filters: { domains: [], tags: ['n:1'] },
    });
    const deliveries = createInMemoryWebhookDeliveries();
    await deliveries.startReplay(await replayOf(outbox, webhook.webhookId));
    outbox.workers({ webhookDeliveries: deliveries, feed: feedOf(outbox) }).start();
    await until(async () => expect(await deliveries.findReplay('rpl_1')).toMatchObject({ state: 'completed' }));
    await until(() => expect(endpoint.posts.map(({ json }) => json.data.message_id)).toEqual([ids[1]]));
    expect(endpoint.types()).toEqual(['message.accepted']);
  });

  test('posts what happened while its webhook was disabled, once it is enabled again', async () => {
    let isGone = true;
    const { outbox, endpoint } = await open(() => ({ status: isGone ? 410 : 204 }));
    const deliveries = createInMemoryWebhookDeliveries();
    outbox.workers({ webhookDeliveries: deliveries, feed: feedOf(outbox) }).start();
    const { webhook } = await outbox.webhook(endpoint.url, ['message.accepted'], environment);
    const { webhookId } = webhook;
    const refused = await outbox.send('ann@example.org', environment);
    await until(async () => expect(await typesOf(outbox, webhookId)).toContain('WebhookDisabled'));
    const missed = await sendSome(outbox, 2);
    isGone = false;
    await updateWebhook(outbox.context, originOf(outbox), { webhookId, environment, enabled: true });
    await deliveries.startReplay(await replayOf(outbox, webhookId));
    await until(() => expect(endpoint.posts).toHaveLength(4));
    const [first, ...replayed] = endpoint.posts;
    expect(first?.json.data.message_id).toBe(refused);
    expect(replayed.map(({ json }) => json.data.message_id).toSorted()).toEqual([refused, ...missed].toSorted());
    expect(replayed.find(({ json }) => json.id === first?.json.id)).toBeDefined();
  });

  test('is not delayed by hundreds of others that wait for disabled webhooks', async () => {
    const opened = await open();
    await sendSome(opened.outbox, 1);
    const deliveries = createInMemoryWebhookDeliveries();
    for (let number = 0; number < 250; number += 1) {
      const waiting = await replayOf(opened.outbox, `whk_${number}`);
      await deliveries.startReplay({ ...waiting, id: `rpl_of_${number}` });
    }
    opened.outbox.workers({ webhookDeliveries: deliveries, feed: feedOf(opened.outbox) }).start();
    await startReplay(opened, deliveries);
    await until(async () => expect(await deliveries.findReplay('rpl_1')).toMatchObject({ state: 'completed' }));
  });

  test('shares the pages of a round with the other replays of its organization', async () => {
    const opened = await open();
    const { outbox, endpoint } = opened;
    await sendSome(outbox, 30);
    const deliveries = createInMemoryWebhookDeliveries();
    const own: string[] = [];
    for (let number = 0; number < 20; number += 1) {
      const { webhook } = await outbox.webhook(endpoint.url, ['message.opened', 'message.accepted'], environment);
      own.push(webhook.webhookId);
    }
    const none = new Date(Date.now() + 3_600_000);
    for (const webhookId of own)
      await deliveries.startReplay({ ...(await replayOf(outbox, webhookId, none)), id: `rpl_of_${webhookId}` });
    let rounds = 0;
    const pages: number[] = [];
    const feed = feedOf(outbox, 1);
    const counting: WebhookDeliveries = {
      ...deliveries,
      runningReplays: (options) => {
        rounds += 1;
        return deliveries.runningReplays(options);
      },
    };
    outbox
      .workers({
        webhookDeliveries: counting,
        feed: (by) => {
          pages[rounds] = (pages[rounds] ?? 0) + 1;
          return feed(by);
        },
      })
      .start();
    await until(() => expect(rounds).toBeGreaterThan(2));
    const full = pages.slice(0, rounds).filter((count) => count !== undefined);
    expect(full.length).toBeGreaterThan(0);
    expect(Math.max(...full)).toBeLessThanOrEqual(20);
  });

  test('is cancelled when its webhook is deleted', async () => {
    const opened = await open();
    const { outbox } = opened;
    const deliveries = createInMemoryWebhookDeliveries();
    const webhook = await startReplay(opened, deliveries);
    await deleteWebhook(outbox.context, originOf(outbox), { webhookId: webhook.webhookId, environment });
    outbox.workers({ webhookDeliveries: deliveries, feed: feedOf(outbox) }).start();
    await until(async () => expect(await deliveries.findReplay('rpl_1')).toMatchObject({ state: 'cancelled' }));
  });
});
