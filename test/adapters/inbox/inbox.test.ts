import { describe, expect, it } from 'vitest';
import { createPostgresInbox } from '../../../src/adapters/inbox/postgres.ts';
import { INBOX_BYTES_MAX, INBOX_MAILS_MAX, type Inbox, type InboxFilter } from '../../../src/domain/ports/mail.ts';
import { mailOf, useInboxes } from './inboxes.ts';

const subjects = async (inbox: Inbox, limit: number, after?: string) => {
  const { mails, next } = await inbox.list({ limit, ...(after !== undefined && { after }) });
  return { subjects: mails.map(({ subject }) => subject), next };
};

const { kinds, openPostgres, pool } = useInboxes();

describe.each(kinds)('an inbox %s', (_, open) => {
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

  it('separates the mail of the two environments', async () => {
    const inbox = await open();
    for (const environment of ['live', 'test'] as const) await inbox.store(mailOf(environment, { environment }));
    const { mails } = await inbox.list({ limit: 10, environment: 'test' });
    expect(mails.map(({ subject }) => subject)).toEqual(['test']);
    expect(await inbox.remove({ environment: 'test' })).toBe(1);
    expect((await inbox.list({ limit: 10 })).mails.map(({ subject }) => subject)).toEqual(['live']);
  });

  it('shows only mail sent from the requested domains', async () => {
    const inbox = await open();
    for (const from of ['x@a.test', 'y@B.test', 'z@sub.a.test', '']) await inbox.store(mailOf(from, { from }));
    const { mails } = await inbox.list({ limit: 10, fromDomains: ['a.test', 'b.test'] });
    expect(mails.map(({ envelope }) => envelope.from)).toEqual(['y@B.test', 'x@a.test']);
    expect((await inbox.list({ limit: 10, fromDomains: [] })).mails).toEqual([]);
  });

  it('is empty at first, and after a place that never existed', async () => {
    const inbox = await open();
    expect(await inbox.list({ limit: 10 })).toEqual({ mails: [], next: null });
    await inbox.store(mailOf('1'));
    for (const after of ['0', 'nonsense', "'; drop table"]) {
      expect((await inbox.list({ limit: 10, after })).mails).toEqual([]);
    }
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

  it('keeps no more than a hundred megabytes', async () => {
    const inbox = await open();
    const raw = Buffer.alloc(9_000_000, 'x');
    for (let count = 0; count < 13; count += 1) await inbox.store(mailOf('', { raw }));
    const { mails } = await inbox.list({ limit: 100 });
    expect(mails).toHaveLength(Math.floor(INBOX_BYTES_MAX / raw.length));
  });
});

describe('the inbox in PostgreSQL', () => {
  it('shows mail captured by an earlier version to owners only', async () => {
    const inbox = await openPostgres();
    await pool().query(
      `insert into inbox.captured_mail (received_at, envelope_from, envelope_to, size_bytes, raw)
       values (now(), 'x@a.test', '[]', 1, 'x')`,
    );
    const { mails } = await inbox.list({ limit: 1 });
    expect(mails).toMatchObject([{ subject: null, attachments: [], isConfidential: true }]);
  });

  it('still has its mail after a restart', async () => {
    await (await openPostgres()).store(mailOf('before'));
    const { mails } = await createPostgresInbox({ pool: pool() }).list({ limit: 1 });
    expect(mails.map(({ subject }) => subject)).toEqual(['before']);
  });

  it('ends when everything given to it is stored', async () => {
    const inbox = await openPostgres();
    const stored = Promise.all(Array.from({ length: 50 }, () => inbox.store(mailOf('x'))));
    await inbox.close();
    const { rows } = await pool().query('select count(*)::integer as count from inbox.captured_mail');
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

  it('reports a message that cannot be stored, and stores the next', async () => {
    const inbox = await openPostgres();
    await expect(inbox.store(mailOf('x', { from: 'nul\0' }))).rejects.toThrow();
    await inbox.store(mailOf('y'));
    expect((await subjects(inbox, 10)).subjects).toEqual(['y']);
  });

  describe('trimmed while one organization floods it', () => {
    const open = async () => {
      const inbox = await openPostgres();
      await pool().query('truncate read_models.domains');
      for (const [id, organizationId, name, verification] of [
        ['dom_1', 'org_a', 'a1.test', {}],
        ['dom_2', 'org_a', 'a2.test', {}],
        ['dom_3', 'org_b', 'b.test', {}],
        ['dom_4', 'org_a', 'b.test', null],
      ])
        await pool().query(
          'insert into read_models.domains (domain_id, organization_id, created_at, state) values ($1, $2, now(), $3)',
          [id, organizationId, JSON.stringify({ name, verification })],
        );
      return inbox;
    };
    const count = async (inbox: Inbox, domain: string): Promise<number> => {
      await inbox.store(mailOf('trims', { from: 'other@c.test' }));
      await inbox.list({ limit: 1 });
      const { rows } = await pool().query(
        "select count(*)::integer as count from inbox.captured_mail where envelope_from like '%@' || $1",
        [domain],
      );
      return rows[0].count;
    };
    const storeMany = (inbox: Inbox, length: number, from: string) =>
      Promise.all(Array.from({ length }, () => inbox.store(mailOf('x', { from }))));

    it('keeps the mail of another, and the newest of the flood', async () => {
      const inbox = await open();
      await storeMany(inbox, 300, 'x@b.test');
      await Promise.all([storeMany(inbox, 1_200, 'x@a1.test'), storeMany(inbox, 1_200, 'x@a2.test')]);
      expect(await count(inbox, 'b.test')).toBe(300);
      expect((await count(inbox, 'a1.test')) + (await count(inbox, 'a2.test'))).toBeGreaterThan(690);
      expect((await pool().query('select from inbox.captured_mail')).rowCount).toBe(INBOX_MAILS_MAX);
    });

    it('halves it between two that both flood', async () => {
      const inbox = await open();
      await storeMany(inbox, 1_000, 'x@b.test');
      await storeMany(inbox, 3_000, 'x@a1.test');
      expect(await count(inbox, 'b.test')).toBeGreaterThan(490);
      expect(await count(inbox, 'a1.test')).toBeGreaterThan(490);
    });

    it("keeps another's small mail, however large the flood's are", async () => {
      const inbox = await open();
      await storeMany(inbox, 50, 'x@b.test');
      const raw = Buffer.alloc(9_000_000, 'x');
      for (let stored = 0; stored < 13; stored += 1) await inbox.store(mailOf('', { raw, from: 'x@a1.test' }));
      expect(await count(inbox, 'b.test')).toBe(50);
      expect(await count(inbox, 'a1.test')).toBe(11);
    });
  });

  it('reads the mail of another organization while one reads as much as it can', async () => {
    const inbox = await openPostgres();
    await inbox.store(mailOf('x'));
    const [mail] = (await inbox.list({ limit: 1 })).mails;
    if (mail === undefined) throw new Error('no mail was stored');
    const greedy = Array.from({ length: 100 }, () => inbox.content(mail, 'org_a'));
    const [content, attachment] = [inbox.content(mail, 'org_b'), inbox.attachment(mail, 0, 'org_b')];
    const outcomes = await Promise.allSettled(greedy);
    expect([await content, await attachment]).toEqual([expect.objectContaining({ text: 'Grüße\n' }), null]);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(50);
    expect(refused.at(-1)).toMatchObject({ reason: { name: 'MailParserUnavailable' } });
  });
});
