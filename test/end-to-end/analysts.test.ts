import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnyBody, apiClient, eventually } from '../support/api-client.ts';
import { freePort } from '../support/free-port.ts';
import { operator } from '../support/operator.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr?: string; readonly rawSql?: string }[];
}

const dashboard = JSON.parse(readFileSync(new URL('../../docs/grafana/outbox.json', import.meta.url), 'utf8'));
const panels: readonly Panel[] = dashboard.panels;

/** Expands macros and variables as Grafana does. */
const expanded = (sql: string): string =>
  sql
    .replaceAll(/\$__timeFilter\(([\w.]+)\)/g, "$1 BETWEEN '2000-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z'")
    .replaceAll('$environment', 'live');

describe('an analyst of a running service', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let database: TestDatabase;
  let program: Program;
  let client: Client;
  let created: AnyBody;
  let metricsPort: number;
  const run = (...words: readonly string[]): Promise<AnyBody> =>
    operator({ dataDir: data.path, env: variables() }, ...words);
  const variables = () => ({ DATABASE_URL: database.url, SECRET_KEY: 'a secret key that is long enough for a test' });

  beforeAll(async () => {
    data = await newDataDir();
    database = await freshDatabase();
    metricsPort = await freePort();
    const bounces = { BOUNCE_DOMAIN: 'bounces.example.test', BOUNCE_PORT: '0' };
    const env = { ...variables(), ...bounces, METRICS_PORT: String(metricsPort) };
    program = await startProgram({ dataDir: data.path, env });
    const message = { from: 'shop@example.test', subject: 'Hello', text: 'Hello' };
    const api = apiClient(program.baseUrl, program.keys.live);
    for (const to of ['ann@example.net', 'delivered@sandbox.outbox.test', 'bounced@sandbox.outbox.test'])
      expect((await api.post('/v1/messages/send', { ...message, to })).status).toBe(202);
    const [organization] = await run('organizations', 'list');
    created = await run('analysts', 'create', '--organization', organization.organization_id, '--name', 'grafana');
    const connectionString = Object.assign(new URL(created.url), { password: created.password }).href;
    client = new Client({ connectionString });
    client.on('error', () => undefined); // dropping the role ends the connection
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await program.end('SIGTERM');
    await database.drop();
    await data.remove();
  });

  test('sees sent mail as it happens', async () => {
    const statuses = async () =>
      (await client.query('select status from analytics.recipients order by status')).rows.map(({ status }) => status);
    await eventually(statuses, (found) => found.filter((status) => status === 'delivered').length >= 2);
    const { rows } = await client.query(
      `select type from analytics.events where environment = 'live' and type = 'message.delivered'`,
    );
    expect(rows.length).toBeGreaterThan(0);
  });

  test('has a dashboard whose queries run, with times in the columns that Grafana needs', async () => {
    const queries = panels.flatMap(({ type, title, targets = [] }) =>
      targets.flatMap(({ rawSql }) => (rawSql === undefined ? [] : [{ type, title, rawSql }])),
    );
    expect(queries.length).toBeGreaterThan(8);
    for (const { type, title, rawSql } of queries) {
      const { fields } = await client.query(expanded(rawSql));
      expect(fields[0]?.name === 'time', title).toBe(type === 'timeseries');
    }
  });

  test('has a dashboard of metrics that exist in the service, with labels that exist', async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]));
    const labels = new Map(
      [...text.matchAll(/^(\w+)\{(.*)\} /gm)].map(([, name = '', all = '']) => [
        name,
        [...all.matchAll(/(\w+)="/g)].map(([, label]) => label),
      ]),
    );
    const asked = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => expr ?? []));
    expect(asked.length).toBeGreaterThan(10);
    for (const expr of asked) {
      const [metric = ''] = /outbox_\w+/.exec(expr) ?? [];
      const name = metric.replace(/_(?:bucket|count|sum)$/, '');
      expect(name === metric ? ['gauge', 'counter'] : ['histogram'], expr).toContain(types.get(name));
      expect(/^rate|\Wrate\(/.test(expr), expr).toBe(types.get(name) !== 'gauge');
      const by = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ') ?? [];
      expect(
        by.filter((label) => labels.get(metric)?.includes(label) === false),
        expr,
      ).toEqual([]);
    }
    const shown = new Set(asked.flatMap((expr) => /outbox_[a-z_]+?(?=_bucket|_count|[^a-z_])/.exec(expr) ?? []));
    expect([...types.keys()].filter((name) => name?.startsWith('outbox_') && !shown.has(name))).toEqual([]);
  });

  test('has a dashboard whose panels do not overlap and have unique ids', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });

  test('is listed and removed by the operator, whose mistakes are explained in a sentence', async () => {
    const { role, organization_id: organization } = created;
    const [listed] = await run('analysts', 'list', '--organization', organization);
    expect(listed).toMatchObject({ role, organization_id: organization, name: 'grafana', exists: true });
    expect(JSON.stringify(listed)).not.toContain(created.password);
    const create = (...words: readonly string[]) => run('analysts', 'create', '--organization', organization, ...words);
    await expect(create()).rejects.toThrow('--name is required');
    await expect(create('--name', 'x', '--timeout', '100000')).rejects.toThrow('--timeout must be at most 3600');
    await expect(run('analysts', 'remove', '--role', 'postgres')).rejects.toThrow('analyst postgres not found');
    expect(await run('analysts', 'remove', '--role', role)).toEqual({ role, removed: true });
    await expect(client.query('select 1')).rejects.toThrow();
  });
});
