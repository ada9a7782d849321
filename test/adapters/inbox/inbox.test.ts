import type { Pool } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { createPostgresInbox } from '../../../src/adapters/inbox/postgres.ts';
import {
  INBOX_BYTES_MAX,
  INBOX_MAILS_MAX,
  type Inbox,
  type InboxFilter,
  type ReceivedMail,
} from '../../../src/domain/ports/inbox.ts';
import { createInMemoryInbox } from '../../support/in-memory/inbox.ts';
import { openMigratedPool } from '../../support/postgres.ts';

const RECEIVED_AT = new Date('2026-01-02T03:04:05.678Z');

const mailOf = (subject: string, more: Partial<ReceivedMail> = {}): ReceivedMail => ({
  environment: 'live',
  from: 'from@a.test',
  to: ['to@b.test'],
  raw: Buffer.from(`Subject: ${subject}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGrüße\r\n`),
  receivedAt: RECEIVED_AT,
  ...more,
});

const WITH_ATTACHMENT = [
  'From: =?UTF-8?Q?J=C3=B6rg?= <from@a.test>',
  'X-Mixed-Case: =?UTF-8?B?w7xi?=',
  ' =?UTF-8?Q?er?=',
  'Subject: parts',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p>x</p>',
  '--b',
  'Content-Type: image/png; name=x.png',
  'Content-Disposition: inline; filename=x.png',
  'Content-ID: <logo@a.test>',
  'Content-Transfer-Encoding: base64',
  '',
  'iVBORw0KGgo=',
  '--b--',
  '',
].join('\r\n');

const subjects = async (inbox: Inbox, limit: number, after?: string) => {
  const { mails, next } = await inbox.list({ limit, ...(after !== undefined && { after }) });
  return { subjects: mails.map(({ subject }) => subject), next };
};

let pool: Pool;
beforeAll(async () => {
  const opened = await openMigratedPool();
  pool = opened.pool;
  return opened.close;
});

const openPostgres = async (): Promise<Inbox> => {
  await pool.query('truncate inbox.captured_mail');
  return createPostgresInbox({ pool });
};

describe.each([
  ['in memory', async () => createInMemoryInbox()],
  ['in PostgreSQL', openPostgres],
])('an inbox %s', (_, open) => {
  it('finds mail by recipient, subject and id, and deletes what it finds', async () => {
    const inbox = await open();
    for (const [to, subject] of [
      ['a@b.test', 'Welcome'],
      ['A@B.test', '=?UTF-8?Q?Gr=C3=BC=C3=9Fe?='],
      ['c@b.test', 'Welcome back'],
    ])
      await inbox.store(mailOf(String(subject), { to: ['x@b.test', String(to)] }));
    const found = async (filter: InboxFilter) =>
      (await inbox.list({ limit: 10, ...filter })).mails.map(({ subject }) => subject);
    expect(await found({ to: 'a@b.TEST' })).toEqual(['Grüße', 'Welcome']);
    expect(await found({ subject: 'WELCOME' })).toEqual(['Welcome back', 'Welcome']);
    expect(await found({ subject: 'grüß' })).toEqual(['Grüße']);
    expect(await found({ to: 'c@b.test', subject: 'welcome' })).toEqual(['Welcome back']);
    expect(await found({ to: 'c@b.test', fromDomains: ['other.test'] })).toEqual([]);
    const { mails, next } = await inbox.list({ limit: 1, subject: 'welcome' });
    const second = await inbox.list({ limit: 1, subject: 'welcome', ...(next === null ? {} : { after: next }) });
    expect([...mails, ...second.mails].map(({ subject }) => subject)).toEqual(['Welcome back', 'Welcome']);
    const id = mails[0]?.id;
    expect(await found({ id })).toEqual(['Welcome back']);
    for (const wrong of ['0', 'x', '', '99999999999999999999']) expect(await found({ id: wrong })).toEqual([]);
    expect(await inbox.remove({ id, fromDomains: ['other.test'] })).toBe(0);
    expect([await inbox.remove({ id }), await inbox.remove({ id }), await inbox.remove({ id: 'x' })]).toEqual([
      1, 0, 0,
    ]);
    expect([await inbox.remove({ subject: 'welcome' }), await inbox.remove({})]).toEqual([1, 1]);
    expect(await found({})).toEqual([]);
  });

  it('shows a message as a reader’s program sees it', async () => {
    const inbox = await open();
    await inbox.store(mailOf('', { to: ['a@b.test', '"\\@c.test'], raw: Buffer.from(WITH_ATTACHMENT) }));
    const { mails, next } = await inbox.list({ limit: 10 });
    expect(next).toBeNull();
    expect(mails).toEqual([
      {
        id: expect.any(String),
        receivedAt: RECEIVED_AT,
        envelope: { from: 'from@a.test', to: ['a@b.test', '"\\@c.test'] },
        headers: [
          { name: 'From', value: 'Jörg <from@a.test>' },
          { name: 'X-Mixed-Case', value: 'über' },
          { name: 'Subject', value: 'parts' },
          { name: 'Content-Type', value: 'multipart/mixed; boundary=b' },
        ],
        subject: 'parts',
        text: null,
        html: '<p>x</p>\n',
        attachments: [
          {
            filename: 'x.png',
            contentType: 'image/png',
            disposition: 'inline',
            contentId: 'logo@a.test',
            sizeBytes: 8,
            content: 'iVBORw0KGgo=',
          },
        ],
        raw: WITH_ATTACHMENT,
      },
    ]);
  });

  it('pages from the newest to the oldest, and knows the last page', async () => {
    const inbox = await open();
    for (const subject of ['1', '2', '3', '4', '5']) await inbox.store(mailOf(subject));
    const first = await subjects(inbox, 2);
    expect(first.subjects).toEqual(['5', '4']);
    await inbox.store(mailOf('6'));
    const second = await subjects(inbox, 2, first.next ?? undefined);
    expect(second.subjects).toEqual(['3', '2']);
    expect(await subjects(inbox, 2, second.next ?? undefined)).toEqual({ subjects: ['1'], next: null });
    expect((await subjects(inbox, 6)).next).toBeNull();
  });

  it('tells mail of one environment from that of the other', async () => {
    const inbox = await open();
    for (const environment of ['live', 'test'] as const) await inbox.store(mailOf(environment, { environment }));
    const { mails } = await inbox.list({ limit: 10, environment: 'test' });
    expect(mails.map(({ subject }) => subject)).toEqual(['test']);
    expect(await inbox.remove({ environment: 'test' })).toBe(1);
    expect((await inbox.list({ limit: 10 })).mails.map(({ subject }) => subject)).toEqual(['live']);
  });

  it('shows only what was sent from the domains that are asked for', async () => {
    const inbox = await open();
    for (const from of ['x@a.test', 'y@B.test', 'z@sub.a.test', '']) await inbox.store(mailOf(from, { from }));
    const { mails } = await inbox.list({ limit: 10, fromDomains: ['a.test', 'b.test'] });
    expect(mails.map(({ envelope }) => envelope.from)).toEqual(['y@B.test', 'x@a.test']);
    expect((await inbox.list({ limit: 10, fromDomains: [] })).mails).toEqual([]);
  });

  it('is empty at first, and after a place that never was', async () => {
    const inbox = await open();
    expect(await inbox.list({ limit: 10 })).toEqual({ mails: [], next: null });
    await inbox.store(mailOf('1'));
    for (const after of ['0', 'nonsense', "'; drop table"]) {
      expect((await inbox.list({ limit: 10, after })).mails).toEqual([]);
    }
  });

  it('keeps bytes that are not UTF-8, and mail that nobody can parse', async () => {
    const inbox = await open();
    const nested = Array.from(
      { length: 300 },
      (_level, index) => `Content-Type: multipart/mixed; boundary=b${index}\r\n\r\n--b${index}\r\n`,
    );
    await inbox.store(mailOf('', { raw: Buffer.from([0xff, 0x00, 0xfe]) }));
    await inbox.store(mailOf('', { from: '', raw: Buffer.from(nested.join('')) }));
    await inbox.store(mailOf('', { raw: new Uint8Array() }));
    const { mails } = await inbox.list({ limit: 10 });
    expect(mails.map(({ raw }) => raw)).toEqual(['', nested.join(''), '\ufffd\0\ufffd']);
    expect(mails[1]?.envelope.from).toBe('');
  });

  it('keeps the newest thousand', async () => {
    const inbox = await open();
    await Promise.all(Array.from({ length: 1500 }, (_each, index) => inbox.store(mailOf(String(index)))));
    let after: string | undefined;
    const seen: (string | null)[] = [];
    do {
      const page = await subjects(inbox, 100, after);
      seen.push(...page.subjects);
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual(Array.from({ length: INBOX_MAILS_MAX }, (_each, index) => String(1499 - index)));
  });

  it('keeps no more than a hundred megabytes, and makes pages of large messages short', async () => {
    const inbox = await open();
    const raw = Buffer.alloc(9_000_000, 'x');
    for (let count = 0; count < 13; count += 1) await inbox.store(mailOf('', { raw }));
    const pages: number[] = [];
    let after: string | undefined;
    do {
      const { mails, next } = await inbox.list({ limit: 100, ...(after !== undefined && { after }) });
      pages.push(mails.length);
      after = next ?? undefined;
    } while (after !== undefined);
    expect(pages.reduce((sum, count) => sum + count, 0)).toBe(Math.floor(INBOX_BYTES_MAX / raw.length));
    expect(Math.max(...pages)).toBe(2);
  });
});

describe('the inbox in PostgreSQL', () => {
  it('is there again after a restart', async () => {
    await (await openPostgres()).store(mailOf('before'));
    const { mails } = await createPostgresInbox({ pool }).list({ limit: 1 });
    expect(mails.map(({ subject }) => subject)).toEqual(['before']);
  });

  it('ends when everything that was given to it is stored', async () => {
    const inbox = await openPostgres();
    const stored = Promise.all(Array.from({ length: 50 }, () => inbox.store(mailOf('x'))));
    await inbox.close();
    const { rows } = await pool.query('select count(*)::integer as count from inbox.captured_mail');
    expect(rows).toEqual([{ count: 50 }]);
    await stored;
  });

  it('refuses mail when too much waits to be stored, and stores the rest', async () => {
    const inbox = await openPostgres();
    const outcomes = await Promise.allSettled(Array.from({ length: 10_001 }, () => inbox.store(mailOf('x'))));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([{ reason: { name: 'StoreUnavailable' } }]);
    await inbox.store(mailOf('y'));
    expect((await subjects(inbox, 1)).subjects).toEqual(['y']);
  });

  it('says so when a message cannot be stored, and stores the next', async () => {
    const inbox = await openPostgres();
    await expect(inbox.store(mailOf('x', { from: 'nul\0' }))).rejects.toThrow();
    await inbox.store(mailOf('y'));
    expect((await subjects(inbox, 10)).subjects).toEqual(['y']);
  });
});
