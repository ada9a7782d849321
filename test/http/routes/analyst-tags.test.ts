import { Pool } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { logIn } from '../../projections/support/analysts.ts';
import { eventually } from '../../support/api-client.ts';
import { openAdminTenant } from '../support/admin-tenant.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

let service: DatabaseService;

beforeAll(async () => {
  service = await startDatabaseService();
});
afterAll(() => service.close());

test('an analyst joins the names of tags that the table of the API has with the rows of the view', async () => {
  const { organizationId, key } = await openAdminTenant(service, 'tags.example');
  const send = async (value: string) => {
    const tags = [{ name: 'campaign', value }];
    const payload = { from: 'a@tags.example', to: 'b@example.org', subject: 'x', text: 'x', tags };
    expect((await service.request({ method: 'POST', url: '/v1/messages/send', key, payload })).statusCode).toBe(202);
  };
  await send('spring');
  await send('spring');
  await send('autumn');
  const url = '/v1/stats?group_by=tag&metrics=accepted&granularity=month';
  const table = await eventually(
    async () => (await service.request({ url, key, headers: { accept: 'text/csv' } })).body,
    (csv) => csv.includes('campaign:autumn'),
  );
  const [header = '', ...lines] = table.trimEnd().split('\r\n');
  expect(header.split(',').slice(0, 4)).toEqual(['start', 'tag', 'tag_id', 'accepted']);
  // Each bucket has a row for each tag.
  const names = new Map(lines.map((line) => line.split(',').slice(1, 3) as [string, string]));

  const pool = Object.assign(new Pool({ connectionString: service.url, max: 1 }), { url: service.url });
  onTestFinished(() => pool.end());
  const { client } = await logIn(pool, organizationId);
  const { rows } = await client.query(
    `select tag, sum(accepted)::int as accepted from analytics.tags join unnest($1::text[], $2::text[]) as names (tag, tag_id) using (tag_id)
     where bounce_class is null group by tag order by tag`,
    [[...names.keys()], [...names.values()]],
  );
  expect(rows).toEqual([
    { tag: 'campaign:autumn', accepted: 1 },
    { tag: 'campaign:spring', accepted: 2 },
  ]);
});
