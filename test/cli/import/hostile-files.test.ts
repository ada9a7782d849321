import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { counted, imported, POSTMARK_DUMP, runImport, useService } from './service.ts';

const { check } = useService();

describe('hostile files', () => {
  test.each([
    ['[{"email":"a@example.net"', /the file ends in the middle of a record/],
    ['[{"email":a}]', /line 1: is not valid JSON/],
    ['{"data":[\n{"email":}\n]}', /line 2: is not valid JSON/],
    [']', /^line 1: is neither JSON/],
    [`[{"email":"${'x'.repeat(5_000_000)}"}]`, /record of more than 4000000 characters/],
    [`email,created\n"${'x'.repeat(200_000)}`, /line 2: has a row of more than 100000 characters/],
    ['email,created\n"a@example.net', /line 2: has an unclosed quote/],
    ['email,created\na"b"c@example.net,"x"y\n', /has a misplaced quote/],
    [`{"a":${'['.repeat(5_000_000)}`, /more than 4000000 characters/],
    ['', /export is empty$/],
    [' \n\ufeff\n', /export is empty$/],
    ['not json', /^line 1: is neither JSON nor a CSV header with an email or address column$/],
    ['\n<!doctype html>\n<p>', /^line 2: is neither JSON/],
    ['name,reason\na,b\n', /^line 1: is neither JSON/],
  ])('%# are rejected with a sentence that names the line', async (text, sentence) => {
    await expect(imported('sendgrid', text, { list: 'bounces', 'dry-run': true })).rejects.toThrow(sentence);
  });

  test('a missing file, or a folder, is rejected', async () => {
    const invocation = (file: string) => ({ values: { file, 'dry-run': true }, positionals: ['resend'] });
    await expect(runImport(invocation('/nowhere/export.csv'))).rejects.toThrow('/nowhere/export.csv cannot be read');
    await expect(runImport(invocation(tmpdir()))).rejects.toThrow('cannot be read');
  });

  test('an empty export is valid', async () => {
    for (const text of ['[]', '{"data":[]}', 'E-mail,created\n']) {
      const { records, code, text: told } = await imported('sendgrid', text, { list: 'bounces' });
      expect([records, code, told.split('\n')[0]]).toEqual([0, 0, '0 records']);
    }
  });

  test('a record in a single-line response is identified by its number', async () => {
    const text = '[{"email":"a@example.net"},{"email":"nobody"},{"email":"A@example.net"}]';
    const { text: told } = await imported('sendgrid', text, { list: 'bounces' });
    expect(told).toContain('  record 2, line 1: not a valid email address: it has no @');
    expect(told).toContain('  record 3, line 1: duplicate of record 1');
    const one = await imported('sendgrid', '{"email":"one@example.net"}', { list: 'bounces' });
    expect(one.text).toMatch(/^1 record\n/);
  });

  test('invalid records of any content are skipped', async () => {
    const records = [
      '[]',
      '1',
      '"x"',
      'null',
      '{}',
      '{"email":1}',
      '{"email":["a@b.test"]}',
      '{"domain":{"x":1}}',
      '{"versions":1}',
      '{"versions":[1,null],"id":"d-1"}',
      '{"__proto__":{"email":"a@example.net"}}',
    ];
    const { suppressions, domains, problems } = await imported('sendgrid', `[${records.join(',\n')}]`, {
      list: 'bounces',
    });
    expect([suppressions, domains]).toEqual([counted(0), counted(0, 0, 1)]);
    expect(problems.length).toBeGreaterThan(3);
  });

  test('line breaks and formulas in notes and addresses do not affect other rows', async () => {
    const text = JSON.stringify([
      { email: 'a@example.net', reason: '\r\nevil@example.net,bounce,all,x', status: '=1+1', created: 1 },
      { email: 'b@example.net\r\nevil@example.net', reason: '', status: '', created: 1 },
      { email: '=a@example.org', reason: '\u0000', status: '"', created: 8.64e15 },
    ]);
    const { suppressions } = await imported('sendgrid', text, { list: 'bounces' });
    expect(suppressions).toEqual(counted(2));
    expect((await check('evil@example.net')).suppressed.bulk).toBe(false);
    expect((await check('=a@example.org')).suppressed.bulk).toBe(true);
  });

  test('a key without the permission is reported at once', async () => {
    vi.stubEnv('OUTBOX_API_KEY', 'ob_live_none');
    await expect(imported('postmark', POSTMARK_DUMP)).rejects.toThrow(
      /after 4 records: .*API key.*existing records stay as they are/s,
    );
  });

  test.each([
    [['sparkpost'], {}, 'expected one of resend, postmark, sendgrid, mailgun'],
    [[], {}, 'expected one of'],
    [['resend'], { list: 'all' }, '--list must be one of'],
    [['resend'], { scope: 'none' }, '--scope must be one of all, transactional, bulk'],
  ])('%j %j is rejected', async (positionals, values, sentence) => {
    await expect(runImport({ positionals, values: { file: 'x', ...values } })).rejects.toThrow(sentence);
  });
});

test.each([
  ['resend', '{"data":[{"email":"a@example.net","origin":"bounce"}]}', {}],
  ['postmark', '{"Suppressions":[{"EmailAddress":"a@example.net","SuppressionReason":"HardBounce"}]}', {}],
  ['sendgrid', '[{"created":1,"email":"a@example.net"}]', { list: 'bounces' }],
  ['mailgun', '{"items":[{"address":"a@example.net"}]}', { list: 'complaints' }],
])('an export of %s is read once, so that it can come from a pipe', async (vendor, text, options) => {
  const folder = await mkdtemp(join(tmpdir(), 'import-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'pipe');
  execFileSync('mkfifo', [file]);
  const [result] = await Promise.all([
    runImport({ values: { file, ...options }, positionals: [vendor] }),
    writeFile(file, text),
  ]);
  expect(result).toMatchObject({ records: 1, suppressions: counted(1) });
});
