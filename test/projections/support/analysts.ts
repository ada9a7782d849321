import { Client, type Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { createAnalyst } from '../../../src/projections/analytics.ts';
import { createHistory, type History } from './history.ts';
import { caughtUp, openPool, startRunner } from './open.ts';

/** Each view, with the source rows of one organization ($1). */
export const ROWS_OF_VIEW = {
  messages: 'select message_id from read_models.messages where organization_id = $1',
  recipients:
    "select r->>'id' from read_models.messages m, json_array_elements(m.recipients) r where m.organization_id = $1",
  events: 'select event_id from read_models.customer_events where organization_id = $1',
  stats: `select bucket::text from read_models.stats_buckets where organization_id = $1 and split = 'recipient_domain' and not moved`,
  tags: `select bucket::text || left(split_value, 16) from read_models.stats_buckets where organization_id = $1 and split = 'tag' and not moved`,
  daily: `select distinct (bucket at time zone 'UTC')::date || environment || domain_id || stream from read_models.stats_buckets where organization_id = $1 and split = '' and not moved`,
  keys: 'select key_id from read_models.api_keys where organization_id = $1',
  domains: 'select domain_id from read_models.domains where organization_id = $1',
} as const;
export const VIEWS = Object.keys(ROWS_OF_VIEW) as (keyof typeof ROWS_OF_VIEW)[];
export const ID_COLUMNS = {
  messages: 'message_id',
  recipients: 'recipient_id',
  events: 'event_id',
  stats: 'bucket::text',
  tags: 'bucket::text || tag_id',
  daily: 'day || environment || domain_id || stream',
  keys: 'api_key_id',
  domains: 'domain_id',
} as const satisfies Record<keyof typeof ROWS_OF_VIEW, string>;

export const firstColumn = async (client: Pick<Client, 'query'>, text: string, values: readonly unknown[] = []) => {
  const { rows } = await client.query<Record<string, string>>(text, [...values]);
  return rows.map((row) => Object.values(row)[0] ?? '').sort();
};

/** Ids of the rows in a view. */
export const seen = (client: Client, view: keyof typeof ROWS_OF_VIEW) =>
  firstColumn(client, `select ${ID_COLUMNS[view]} from analytics.${view}`);

/** Two organizations with read models of their events. */
export const openAnalytics = async (
  steps = 240,
): Promise<{
  readonly pool: Pool & { readonly url: string };
  readonly history: History;
  readonly organizations: readonly string[];
}> => {
  const pool = await openPool();
  const history = await createHistory({ seed: 12 });
  const runner = startRunner(pool, history.store);
  await history.go(steps);
  if (!(await caughtUp(pool, history.store))) throw new Error('the read models did not catch up');
  await runner.stop();
  return { pool, history, organizations: history.tenants.map(({ organizationId }) => organizationId) };
};

/** Logs in as a new analyst of an organization. The role is dropped after the test. */
export const logIn = async (pool: Pool & { readonly url: string }, organizationId: string, connections = 5) => {
  const created = await createAnalyst(
    { pool, system: createSystem() },
    { organizationId, name: 'test', connections, timeoutSeconds: 30, createdBy: 'test' },
  );
  const url = Object.assign(new URL(pool.url), { username: created.role, password: created.password }).href;
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    onTestFinished(() => client.end());
    await client.connect();
    return client;
  };
  // All databases of the server share its roles.
  onTestFinished(async () => {
    await pool.query(`drop owned by ${created.role}; drop role ${created.role}`).catch(() => undefined);
  });
  return { ...created, url, connect, client: await connect() };
};
