import { createInMemoryWebhookDeliveries } from '../../support/in-memory/webhook-deliveries.ts';
import { webhookDeliveriesContract } from './contract.ts';
import { webhookReplaysContract } from './replays.contract.ts';

const open = async () => ({
  deliveries: createInMemoryWebhookDeliveries(),
  close: async () => undefined,
});

webhookDeliveriesContract('in memory', open);
webhookReplaysContract('in memory', open);
