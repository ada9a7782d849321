import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { readSuppressionRows } from '../../../../src/http/resources/suppressions/suppression-file.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { openSuppressionTenant, type SuppressionTenant } from '../../support/suppression-tenant.ts';

let service: DatabaseService;
let tenant: SuppressionTenant;
beforeAll(async () => {
  service = await startDatabaseService();
});
beforeAll(async () => {
  tenant = await openSuppressionTenant(service);
});
afterAll(() => service.close());

const counts = ({ imported, unchanged, refused }: Record<string, number>) => [imported, unchanged, refused];

describe('importing a file', () => {
  test('imports valid rows, reports the others by line, and changes nothing the second time', async () => {
    const own = await openSuppressionTenant(service);
    const csv = [
      'address,scope,reason,expires_at,note',
      'ann@example.net,,,,',
      'bob@example.net,bulk,unsubscribe,2099-01-01T00:00:00Z,"said ""no"",',
      'in two lines"',
      'nobody,,,,',
      '',
      'cyd@example.net,some,whim,,',
      'dee@example.net,,,2020-01-01T00:00:00Z,',
      'ANN@example.net,all,import,,',
      'eve@example.net,all,import,,note,more',
    ].join('\r\n');
    const { status, body } = await own.importCsv(csv);
    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'suppression_import',
      imported: 2,
      unchanged: 0,
      refused: 5,
      problems: [
        { line: 5, message: 'address is not an email address' },
        {
          line: 7,
          message: expect.stringMatching(
            /^reason must be one of .*; scope must be one of all, transactional, bulk, topic$/,
          ),
        },
        { line: 8, message: 'expires_at must be in the future' },
        { line: 9, message: 'repeats the address, reason and scope of line 2' },
        { line: 10, message: 'has more fields than the first row' },
      ],
    });
    const { body: list } = await own.ask('GET', '?reason=unsubscribe');
    expect(list.data).toMatchObject([
      {
        address: 'bob@example.net',
        scope: 'bulk',
        expires_at: '2099-01-01T00:00:00.000Z',
        entries: [{ evidence: 'said "no",\r\nin two lines' }],
      },
    ]);
    expect(counts((await own.importCsv(csv)).body)).toEqual([0, 2, 5]);
  });

  test.each([
    ['semicolons', 'address;note\na1@example.net;"x;y"\n'],
    ['tabs', 'note\taddress\nx;y\ta2@example.net\n'],
    ['a byte order mark, capitals and spaces', '\ufeffAddress , Note\n a3@example.net ,x;y\n'],
    ['old line breaks and no last one', 'address,note\ra4@example.net,x;y'],
  ])('reads %s', async (_what, csv) => {
    const { body } = await tenant.importCsv(csv);
    expect(counts(body)).toEqual([1, 0, 0]);
    const { body: list } = await tenant.ask('GET', '?limit=1');
    expect(list.data[0]).toMatchObject({ address: expect.stringMatching(/^a\d@/), entries: [{ evidence: 'x;y' }] });
  });

  test.each([
    ['', 'csv must not be empty'],
    [
      'ann@example.net\n',
      'csv must have only these columns, named in its first row: address, scope, reason, expires_at, note, topic_id',
    ],
    ['note\nx\n', 'csv must name the column address in its first row'],
    ['address,address\na@example.net,b@example.net\n', 'csv must not have two columns with the same name'],
    [
      'address,note\na@example.net,"x\n',
      'csv has a misplaced double quote: put quotes around a whole field, and double the quotes inside it',
    ],
    [
      'address,note\na@example.net,"x"y\n',
      'csv has a misplaced double quote: put quotes around a whole field, and double the quotes inside it',
    ],
    [`address\n${'a@example.net\n'.repeat(10_001)}`, 'csv must have at most 10000 rows'],
  ])('refuses %.30j as a whole', async (csv, problem) => {
    const { status, body } = await tenant.importCsv(csv);
    expect([status, body.error.details]).toEqual([400, { csv: [problem] }]);
  });

  test('refuses a file of more than a megabyte', async () => {
    expect((await tenant.importCsv('x'.repeat(1_000_000))).status).toBe(413);
  });

  test('refuses only hostile rows', async () => {
    const rows = ['a\0b@example.net', 'a@example.net\tb@example.net', '"a@example.net\nBcc: b@example.net"', '@', '<>'];
    const { body } = await tenant.importCsv(`address\n${rows.join('\n')}\nfine@example.net\n`);
    expect(counts(body)).toEqual([1, 0, rows.length]);
  });

  test('refuses a field without an end before it has been read over and over', async () => {
    const { status, body } = await tenant.importCsv(`address,note\na@example.net,"${'"",\n'.repeat(130_000)}"\n`);
    expect([status, body.error.details]).toEqual([400, { csv: ['csv must have rows of at most 50000 characters'] }]);
  });

  test('yields to other work while it is read', async () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => `row${index}@example.net,"${'x,'.repeat(200)}"`);
    let turns = 0;
    let isOver = false;
    const others = (): void => {
      turns += 1;
      if (!isOver) setImmediate(others);
    };
    others();
    const read = await readSuppressionRows(`address,note\n${rows.join('\n')}\n`, createSystem());
    isOver = true;
    expect(read.rows).toHaveLength(10_000);
    // One turn for each chunk of 50,000 characters.
    expect(turns).toBeGreaterThan(80);
  });
});

describe('exporting the list', () => {
  test('gives a file that the import of another organization accepts unchanged', async () => {
    const [own, other] = [await openSuppressionTenant(service), await openSuppressionTenant(service)];
    await own.add({ address: 'ann@example.net', note: 'two\r\nlines, and a "quote"' });
    await own.add({ address: 'ann@example.net', scope: 'bulk', expires_at: '2099-01-01T00:00:00Z' });
    await own.add({ address: '+tag@example.net', note: "'quoted'" });
    const { body: gone } = await own.add({ address: 'gone@example.net' });
    await own.ask('DELETE', `/${gone.id}`);
    const first = await own.ask('GET', '/export');
    expect(first.headers['content-type']).toBe('text/csv; charset=utf-8');
    const [header, ...rows] = first.text.split('\r\n');
    expect(header).toBe('address,scope,reason,expires_at,note,topic_id');
    expect(rows).toContain("'+tag@example.net,all,manual,,''quoted',");
    expect(first.text).not.toContain('gone@');
    expect(counts((await other.importCsv(first.text)).body)).toEqual([3, 0, 0]);
    const second = await other.ask('GET', '/export');
    const sorted = (text: string) => text.split('\r\n').sort();
    expect(sorted(second.text)).toEqual(sorted(first.text));
    expect(counts((await own.importCsv(first.text)).body)).toEqual([0, 3, 0]);
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])(
    'lets no spreadsheet read %j as a formula',
    async (note) => {
      const own = await openSuppressionTenant(service);
      await own.add({ address: 'ann@example.net', note });
      const { text } = await own.ask('GET', '/export');
      expect(text).toContain(`'${note}`);
      expect(text).not.toMatch(/(^|\r\n|,|")[=+@-]/);
    },
  );

  test('of an empty list has only its first row', async () => {
    const own = await openSuppressionTenant(service);
    expect((await own.ask('GET', '/export')).text).toBe('address,scope,reason,expires_at,note,topic_id\r\n');
  });
});
