import fc from 'fast-check';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rowsInto } from '../../src/lib/projections/projections.ts';
import { migratedDatabase, type TestDatabase } from '../support/postgres.ts';

interface TableRows {
  readonly place: number;
  readonly text: string | null;
  readonly isTrue: boolean;
  readonly json: object;
  readonly at: string;
}

const insert = rowsInto<TableRows>('kept', { place: 'place', text: 'text', is_true: 'isTrue', json: 'json', at: 'at' });
const AT = '2026-01-02T03:04:05.678Z';
const row = (place: number, values: Partial<TableRows> = {}): TableRows => ({
  place,
  text: null,
  isTrue: false,
  json: {},
  at: AT,
  ...values,
});

/** Texts that would end a value, a row or the copy, or mean null, if they were not escaped. */
const MEANINGFUL = ['\\', '\t', '\n', '\r', '\\N', '\\.', '\\.\n', '\\n', '"', '{}', '', ' '];
const text = fc
  .array(fc.oneof(fc.constantFrom(...MEANINGFUL), fc.string({ unit: 'grapheme' })))
  .map((parts) => parts.join('').replaceAll('\0', ''));

describe('rows copied into a table', () => {
  let database: TestDatabase;
  let client: Client;
  const stored = async (): Promise<readonly object[]> =>
    (await client.query('select place, text, is_true as "isTrue", json, at from kept order by place')).rows;

  beforeEach(async () => {
    database = await migratedDatabase();
    client = new Client({ connectionString: database.url });
    client.on('error', () => undefined);
    await client.connect();
    await client.query(
      'create table kept (place int primary key, text text, is_true boolean, json json, at timestamptz)',
    );
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  test('are stored exactly, with any content', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.option(text), fc.boolean(), text), { maxLength: 20 }), async (given) => {
        const rows = given.map(([value, isTrue, inner], place) => row(place, { text: value, isTrue, json: { inner } }));
        await client.query('truncate kept');
        await insert(client, rows);
        expect(await stored()).toEqual(rows.map((one) => ({ ...one, at: new Date(AT) })));
      }),
      { numRuns: 50 },
    );
  });

  test('are stored all or none, and the connection remains usable', async () => {
    await expect(insert(client, [row(1), row(2), row(1)])).rejects.toMatchObject({ code: '23505' });
    await expect(insert(client, [row(1), row(2, { text: 'a\0b' })])).rejects.toMatchObject({ code: '22021' });
    expect(await stored()).toEqual([]);
    await insert(client, [row(3)]);
    expect(await stored()).toHaveLength(1);
  });

  test('may be a megabyte each', async () => {
    const large = 'tab\tand line\n'.repeat(80_000);
    await insert(client, [row(1, { text: large }), row(2)]);
    expect(await stored()).toMatchObject([{ text: large }, { text: null }]);
  });

  test('are not stored when the connection is lost, which is reported', async () => {
    const { rows: found } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query('begin; insert into kept (place) values (2)'); // blocks the copy
    const told = expect(insert(client, [row(1), row(2), row(3)])).rejects.toThrow();
    await other.query('select pg_terminate_backend($1)', [found[0]?.pid]);
    await told;
    await other.query('rollback');
    expect((await other.query('select count(*)::int as count from kept')).rows).toEqual([{ count: 0 }]);
    await other.end();
  });
});
