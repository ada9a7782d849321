import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { webhookDeliveriesContract } from './contract.ts';

webhookDeliveriesContract('in memory', async () => ({
  deliveries: createInMemoryWebhookDeliveries(),
  close: async () => undefined,
}));
