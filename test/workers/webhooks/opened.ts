import { expect } from 'vitest';
import { pingWebhook } from '../../../src/commands/webhook.ts';
import type { WebhookDeliveries } from '../../../src/domain/ports/webhooks.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { until } from '../delivering.ts';
import { openService, type Service } from '../service.ts';
import { openReceiver, type Receiver } from './receiver.ts';

export const receiver = async (...answer: Parameters<typeof openReceiver>): Promise<Receiver> =>
  closedAfterTest(await openReceiver(...answer));

export const service = async (): Promise<Service> => closedAfterTest(await openService());

const MINUTE_MS = 60_000;

/**
 * Resolves when everything that was due a minute ago has been claimed. As a marker, a ping to a separate endpoint
 * fails, and its second attempt has arrived. Deliveries that have not been posted by then are not due. Advances the
 * clock by a minute.
 */
export const dueDeliveriesPosted = async (
  outbox: Service,
  webhookDeliveries: Pick<WebhookDeliveries, 'list'> = outbox.dependencies.webhookDeliveries,
): Promise<void> => {
  const { context, organizationId, system } = outbox;
  const marker = await receiver((_post, count) => ({ status: count === 1 ? 500 : 204 }));
  const { webhook } = await outbox.webhook(marker.url, ['topic.created'], 'test');
  const { webhookId } = webhook;
  const origin = {
    ...{ actor: 'operator', organizationId, environment: 'test' as const, requestId: null },
    ...{ correlationId: 'test', causationId: 'test' },
  };
  await pingWebhook(context, origin, { webhookId, environment: 'test' });
  await until(async () => {
    const { deliveries } = await webhookDeliveries.list({ webhookId, limit: 100 });
    expect(deliveries.flatMap(({ tries }) => tries)).toHaveLength(1);
  });
  system.shift(MINUTE_MS);
  await until(() => expect(marker.posts).toHaveLength(2));
};
