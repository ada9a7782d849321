import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { deleteWebhook } from '../../../src/commands/webhook.ts';
import { type CustomerEvent, customerEvents } from '../../../src/domain/customer-events.ts';
import { LOG_START } from '../../../src/domain/ports/event-store.ts';
import type { WebhookDeliveries } from '../../../src/domain/ports/webhook-deliveries.ts';
import { type FeedEvent, type FeedPage, isAfter, type ReadFeed } from '../../../src/projections/events/queries.ts';
import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { openService, type Service } from '../service.ts';
import { openReceiver } from './receiver.ts';

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

const environment = 'test';
const until = (check: () => Promise<void> | void): Promise<void> => vi.waitFor(check, { timeout: 8000, interval: 20 });

/** The feed as it is in the log, in pages of two. */
const feedOf =
  ({ context: { store } }: Service) =>
  async ({ environment: own, after, types }: ReadFeed): Promise<FeedPage> => {
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
    const items = rest.slice(0, 2);
    return { items, hasMore: rest.length > 2, next: items.at(-1)?.cursor ?? from };
  };

const open = async () => {
  const outbox = await openService();
  opened.push(outbox);
  const endpoint = await openReceiver();
  opened.push(endpoint);
  return { outbox, endpoint };
};

const replayOf = async (outbox: Service, webhookId: string, since: Date | null = null, upTo?: string) => ({
  ...{ id: 'rpl_1', webhookId, since, until: new Date(Date.now() + 3_600_000), createdAt: new Date() },
  ...{ place: { position: LOG_START, index: 0 }, upTo: upTo ?? (await outbox.context.store.head()) },
});

/** Sends some messages before the endpoint is there. */
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

const eventsOf = async (outbox: Service): Promise<readonly CustomerEvent[]> => {
  const { events } = await outbox.context.store.readAll({ from: LOG_START, filter: {}, limit: 100_000 });
  return events.flatMap(customerEvents).filter(({ type }) => type === 'message.accepted');
};

describe('a replay', () => {
  test('posts events of the past with their ids, marked, each once, whatever crashes', async () => {
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
    await sleep(300);
    expect(endpoint.posts.map(({ json }) => json.id).toSorted()).toEqual(
      (await eventsOf(outbox)).map(({ id }) => id).toSorted(),
    );
    expect(new Set(endpoint.posts.map(({ headers }) => headers['webhook-replay']))).toEqual(new Set(['rpl_1']));
    expect((await deliveries.findReplay('rpl_1'))?.counts).toEqual({ pending: 0, delivered: 5, failed: 0 });
  });

  test('leaves out what is not of its time', async () => {
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

  test('is not held up by hundreds of others that wait for disabled webhooks', async () => {
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

  test('of a webhook that is deleted is cancelled', async () => {
    const opened = await open();
    const { outbox } = opened;
    const deliveries = createInMemoryWebhookDeliveries();
    const webhook = await startReplay(opened, deliveries);
    const { organizationId } = outbox;
    const origin = { actor: 'operator', organizationId, environment, requestId: null } as const;
    await deleteWebhook(
      outbox.context,
      { ...origin, correlationId: 'test', causationId: 'test' },
      { webhookId: webhook.webhookId, environment },
    );
    outbox.workers({ webhookDeliveries: deliveries, feed: feedOf(outbox) }).start();
    await until(async () => expect(await deliveries.findReplay('rpl_1')).toMatchObject({ state: 'cancelled' }));
  });
});
