import { describe, expect, test, vi } from 'vitest';
import { UsageError } from '../../../src/cli/terminal.ts';
import { counted, imported, POSTMARK_DUMP, useService } from './service.ts';

const { check } = useService();

describe('suppressions', () => {
  test('from Postmark are imported with reason and time, and only once', async () => {
    const first = await imported('postmark', POSTMARK_DUMP, { scope: 'bulk' });
    expect([first.records, first.suppressions, first.code]).toEqual([4, counted(2, 0, 1), 2]);
    expect(first.problems).toEqual([
      { record: 3, line: 15, reason: 'not a valid email address: it has no @' },
      { record: 4, line: 21, reason: 'duplicate of record 2' },
    ]);
    expect(first.text).toContain('suppressions: 2 added, 0 unchanged, 1 skipped');
    expect(await check('ann@example.net')).toMatchObject({
      suppression: { entries: [{ reason: 'unsubscribe', scope: 'bulk' }] },
    });
    expect(JSON.stringify(await check('bob@example.net'))).toContain(
      'Postmark since 2019-12-17T13:58:33.000Z: HardBounce by Recipient',
    );
    expect((await imported('postmark', POSTMARK_DUMP, { scope: 'bulk' })).suppressions).toEqual(counted(0, 2, 1));
  });

  test.each([
    [
      'resend',
      '{"object":"list","has_more":false,"data":[{"id":"1","email":"a@example.net","origin":"bounce","source_id":null,"created_at":"2024-01-01T00:00:00Z"},{"id":"2","email":"b@example.net","origin":"complaint","created_at":"2024-01-01"}]}',
      {},
      ['bounce', 'complaint'],
    ],
    [
      'resend',
      'email,first_name,unsubscribed\r\na@example.net,"An, n",TRUE\r\nb@example.net,Bob,false\r\n',
      {},
      ['unsubscribe'],
    ],
    [
      'resend',
      '{"email":"a@example.net","origin":"manual"}\n{"email":"b@example.net","origin":"bounce"}\n',
      {},
      ['manual', 'bounce'],
    ],
    [
      'postmark',
      'Email Address;Suppression Reason;Origin;Created At\na@example.net;SpamComplaint;Recipient;2024-01-01T00:00:00Z\nb@example.net;ManualSuppression;Customer;\n',
      {},
      ['complaint', 'manual'],
    ],
    [
      'sendgrid',
      '[{"created":1443651125,"email":"a@example.net","reason":"550 5.1.1 no \\"such\\" user\\nhere","status":"5.1.1"},{"created":1443651125,"email":"b@example.net","reason":"","status":""}]',
      { list: 'bounces' },
      ['bounce', 'bounce'],
    ],
    [
      'sendgrid',
      '\ufeffstatus,reason,email,created\n5.1.1,"550 5.1.1 ""unknown""\nuser",a@example.net,1443651125\n,,b@example.net,1443651125',
      { list: 'bounces' },
      ['bounce', 'bounce'],
    ],
    [
      'sendgrid',
      'email,created\na@example.net,1443651125\nb@example.net,1443651125\n',
      { list: 'unsubscribes' },
      ['unsubscribe', 'unsubscribe'],
    ],
    [
      'sendgrid',
      '[{"created":1443651125,"email":"a@example.net","ip":"192.0.2.1"}]',
      { list: 'spam_reports' },
      ['complaint'],
    ],
    [
      'mailgun',
      '{"items":[{"address":"a@example.net","code":"550","error":"no such\\nuser","created_at":"Wed, 30 Sep 2015 22:12:05 GMT"}],"paging":{"next":"https://x.test"}}',
      {},
      ['bounce'],
    ],
    [
      'mailgun',
      '{"items":[{"address":"a@example.net","tags":["*"],"created_at":"x"},{"address":"b@example.net","tags":["*"]}]}',
      {},
      ['unsubscribe', 'unsubscribe'],
    ],
    ['mailgun', 'address,created_at\na@example.net,x\n', { list: 'complaints' }, ['complaint']],
  ] as const)('from %s are imported in all its export formats: %j', async (vendor, text, options, reasons) => {
    const { problems, suppressions } = await imported(vendor, text, options);
    const isTrue = vendor === 'resend' && text.includes('TRUE');
    expect(problems).toEqual(isTrue ? [{ record: 2, line: 3, reason: 'the contact has not unsubscribed' }] : []);
    expect(suppressions).toEqual(counted(reasons.length));
    const found = await Promise.all(['a', 'b'].slice(0, reasons.length).map((name) => check(`${name}@example.net`)));
    expect(found.map(({ suppression }) => suppression.entries[0].reason)).toEqual(reasons);
    if (text.includes('1443651125')) expect(JSON.stringify(found[0])).toContain('since 2015-09-30T22:12:05.000Z');
  });

  test('from SendGrid need the name of their list, and blocks are not suppressions', async () => {
    const text = '[{"created":1,"email":"a@example.net","reason":"","status":""}]';
    await expect(imported('sendgrid', text)).rejects.toThrow('--list bounces|spam_reports');
    expect((await imported('sendgrid', text, { list: 'blocks' })).suppressions).toEqual(counted(0));
  });

  test('without the name of their list are refused before the first request', async () => {
    vi.stubEnv('OUTBOX_API_KEY', 'ob_live_none');
    const records = [{ domain: 'a.test' }, { created: 1, email: 'a@example.net', reason: '', status: '' }];
    await expect(imported('sendgrid', JSON.stringify(records))).rejects.toThrow(UsageError);
  });

  test('from Mailgun need the name of their list if it cannot be seen', async () => {
    const text = '{"items":[{"address":"a@example.net","created_at":"Wed, 30 Sep 2015 22:12:05 GMT"}]}';
    await expect(imported('mailgun', text)).rejects.toThrow('--list bounces|spam_reports|complaints');
    expect((await imported('mailgun', '{"template":{"name":"a"}}')).problems[0]?.reason).toContain('of Mailgun');
  });

  test('that exceed one request are sent in several, with their progress', async () => {
    const seen: number[] = [];
    const progress = { at: (done: number) => void seen.push(done), end: () => void seen.push(0) };
    const rows = Array.from({ length: 5_001 }, (_, index) => `a${index}@example.net,1443651125`);
    const { suppressions } = await imported(
      'sendgrid',
      `email,created\n${rows.join('\n')}\n`,
      {
        list: 'unsubscribes',
      },
      progress,
    );
    expect(suppressions).toEqual(counted(5_001));
    expect(seen.slice(-2)).toEqual([5_001, 0]);
  });

  test('are not imported by a dry run, which makes no request to the service', async () => {
    vi.stubEnv('OUTBOX_API_KEY', 'ob_live_none');
    const { suppressions, text } = await imported('postmark', POSTMARK_DUMP, { 'dry-run': true });
    expect([suppressions, text]).toEqual([counted(2, 0, 1), expect.stringContaining('nothing was changed')]);
    expect((await check('ann@example.net')).suppressed).toEqual({ transactional: false, bulk: false });
  });
});
