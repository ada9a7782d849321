import { Pool } from 'pg';
import { createPostgresWebhookDeliveries } from '../../../src/adapters/webhook-deliveries/postgres.ts';
import { migratedDatabase } from '../../support/postgres.ts';
import { webhookDeliveriesContract } from './contract.ts';
import { webhookReplaysContract } from './replays.contract.ts';

const open = async () => {
  const { url, drop } = await migratedDatabase();
  const pool = new Pool({ connectionString: url, max: 4 });
  return {
    deliveries: createPostgresWebhookDeliveries({ pool }),
    close: async () => {
      await pool.end();
      await drop();
    },
  };
};

webhookDeliveriesContract('in PostgreSQL', open);
webhookReplaysContract('in PostgreSQL', open);
