import type { Environment } from '../../domain/environment.ts';
import type { Database } from '../database.ts';

/** A message with recipients that are not settled. */
export interface Delivery {
  readonly messageId: string;
  /** Which transport takes it. */
  readonly route: Environment;
  /** `leased`: an attempt is in hand until `leaseUntil`. */
  readonly state: 'waiting' | 'leased';
  /** When somebody has to look at it: the next attempt, or the end of the lease. ISO 8601. */
  readonly dueAt: string;
  readonly leaseUntil: string | null;
  readonly expiresAt: string;
}

const DUE = `
  select message_id, route, state, due_at, lease_until, expires_at
  from read_models.deliveries
  where due_at <= $1
  order by due_at, message_id
  limit $2`;

interface Row {
  readonly message_id: string;
  readonly route: Environment;
  readonly state: Delivery['state'];
  readonly due_at: Date;
  readonly lease_until: Date | null;
  readonly expires_at: Date;
}

/** What is due at or before this time and in nobody's hands, longest overdue first. */
export const dueDeliveries = async (
  db: Database,
  { before, limit }: { readonly before: string; readonly limit: number },
): Promise<readonly Delivery[]> => {
  const { rows } = await db.query<Row>({ name: 'due-deliveries', text: DUE, values: [before, limit] });
  return rows.map((row) => ({
    messageId: row.message_id,
    route: row.route,
    state: row.state,
    dueAt: row.due_at.toISOString(),
    leaseUntil: row.lease_until?.toISOString() ?? null,
    expiresAt: row.expires_at.toISOString(),
  }));
};
