import type { Pool } from 'pg';
import { createPostgresWebhookDeliveries } from '../adapters/webhook-deliveries/postgres.ts';
import type { EventStore, Position } from '../domain/ports/event-store.ts';
import { isInLog } from '../projections/checkpoints.ts';

export interface ResetRecording {
  readonly pool: Pool;
  readonly log: Pick<EventStore, 'logId' | 'head' | 'readAll'>;
}

const GO_ON_FROM = 'update vault.webhook_recording set log_id = $1, position = $2';

/**
 * Lets webhooks go on at the end of this log where they were recorded from another, or from more than it holds: nothing
 * that is in it is told again, and nothing that is not can be. What is owed already stays owed.
 * @returns what was done; nothing where they can go on from where they are.
 */
export const resetRecording = async ({
  pool,
  log,
}: ResetRecording): Promise<readonly { readonly name: string; readonly position: Position }[]> => {
  const logId = await log.logId();
  const recording = await createPostgresWebhookDeliveries({ pool }).checkpoint();
  if (recording === null) return [];
  if (recording.logId === logId && (await isInLog(log, recording.position))) return [];
  const position = await log.head();
  await pool.query(GO_ON_FROM, [logId, position]);
  return [{ name: 'webhook-recording', position }];
};
