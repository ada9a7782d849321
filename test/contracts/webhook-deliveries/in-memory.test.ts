import { createInMemoryWebhookDeliveries } from '../../../src/adapters/webhook-deliveries/in-memory.ts';
import { webhookDeliveriesContract } from './contract.ts';

webhookDeliveriesContract('in memory', async () => ({
  deliveries: createInMemoryWebhookDeliveries(),
  close: async () => undefined,
}));
