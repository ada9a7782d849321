import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { logIn, openAnalytics, VIEWS } from './support/analysts.ts';

const page = readFileSync(new URL('../../docs/analysts.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) => sql);

/** The tables of the page: `view column type`. */
const described = page
  .split(/^### /m)
  .slice(1)
  .flatMap((section) => {
    const view = section.slice(0, section.indexOf('\n'));
    return [...section.matchAll(/^\| `(\w+)` \| ([^|]+) \| .+ \|$/gm)].map(
      ([, name, type]) => `${view} ${name} ${type}`,
    );
  });

test('docs/analysts.md lists each view with its columns and types, and its examples return rows', async () => {
  const { pool, history, organizations } = await openAnalytics(400);
  const { rows: columns } = await pool.query<{ column: string }>(
    `
    select c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) as column
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'analytics'::regnamespace and a.attnum > 0
    order by array_position($1::text[], c.relname::text), a.attnum`,
    [VIEWS],
  );
  expect(described).toEqual(columns.map(({ column }) => column));

  const { client } = await logIn(pool, organizations[0] ?? '');
  const now = `timestamptz '${history.system.now().toISOString()}'`;
  expect(examples).toHaveLength(8);
  for (const example of examples) {
    const { rows } = await client.query(example.replaceAll('now()', now));
    expect(rows.length, example).toBeGreaterThan(0);
  }
});
