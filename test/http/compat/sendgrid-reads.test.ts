import sendgrid from '@sendgrid/mail';
import { beforeAll, describe, expect, test } from 'vitest';
import { startDatabaseService } from '../support/database-service.ts';
import { useTenant } from './tenant.ts';

/** The published client, unmodified. */

const { now, ask } = useTenant(() => startDatabaseService());

interface Response {
  readonly statusCode: number;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what each test looks at
  readonly body: any;
}
type Request = { readonly method: string; readonly url: string; readonly qs?: object; readonly body?: object };
/** The instance of `@sendgrid/client` that `@sendgrid/mail` uses. */
interface Client {
  setApiKey(key: string): void;
  setDefaultRequest(name: string, value: string): void;
  request(asked: Request): Promise<[Response, unknown]>;
}
const client = (sendgrid as unknown as { readonly client: Client }).client;

beforeAll(async () => {
  const url = await now.service.server.listen({ port: 0, host: '127.0.0.1' });
  client.setApiKey(now.key);
  client.setDefaultRequest('baseUrl', `${url}/compat/sendgrid/`);
});

const call = async (method: string, url: string, more: Omit<Request, 'method' | 'url'> = {}): Promise<Response> =>
  (await client.request({ method, url, ...more }))[0];
const refused = (method: string, url: string, more: object = {}): Promise<string> =>
  call(method, url, more).then(
    () => '',
    ({ code, response }) => `${code} ${response.body.errors[0].field} ${response.body.errors[0].message}`,
  );
const ours = async (url: string) => (await now.service.request({ url, key: now.key })).json();
const post = (url: string, payload: object) => now.service.request({ method: 'POST', url, key: now.key, payload });

describe('sendgrid', () => {
  test('/v3/suppression: lists, finds and deletes', async () => {
    const csv = `address,reason,note
ann@example.net,bounce,550 5.1.1 no such user
bob@example.net,complaint,
carol@example.net,unsubscribe,
`;
    await post('/v1/suppressions/import', { csv });
    const seconds = expect.any(Number);
    const ann = { created: seconds, email: 'ann@example.net', reason: '550 5.1.1 no such user', status: '5.1.1' };
    expect((await call('GET', '/v3/suppression/bounces')).body).toEqual([ann]);
    const bob = { created: seconds, email: 'bob@example.net' };
    expect((await call('GET', '/v3/suppression/spam_reports')).body).toEqual([bob]);
    expect((await call('GET', '/v3/suppression/unsubscribes')).body).toMatchObject([{ email: 'carol@example.net' }]);
    for (const empty of ['blocks', 'invalid_emails'])
      expect((await call('GET', `/v3/suppression/${empty}`)).body).toEqual([]);

    const { created } = (await call('GET', '/v3/suppression/bounces')).body[0];
    for (const [qs, count] of [
      [{ start_time: created, end_time: created + 1 }, 1],
      [{ start_time: created + 10 }, 0],
      [{ end_time: created - 10 }, 0],
      [{ limit: 1, offset: 1 }, 0],
      [{ email: 'ann@example.net' }, 1],
      [{ email: 'bob@example.net' }, 0],
    ] as const)
      expect((await call('GET', '/v3/suppression/bounces', { qs })).body).toHaveLength(count);

    expect((await call('GET', '/v3/suppression/bounces/ann@example.net')).body).toEqual([ann]);
    expect((await call('GET', '/v3/suppression/bounces/bob@example.net')).body).toEqual([]);
    expect((await call('DELETE', '/v3/suppression/bounces/ann@example.net')).statusCode).toBe(204);
    expect((await call('GET', '/v3/suppression/bounces')).body).toEqual([]);
    expect(await refused('DELETE', '/v3/suppression/bounces/bob@example.net')).toContain('404 null email is not on');
    expect((await ours('/v1/suppressions?address=bob@example.net')).data).toHaveLength(1);
  });

  test('/v3/asm/suppressions/global: adds, finds and deletes', async () => {
    const body = { recipient_emails: ['dan@example.net', 'eve@example.net'] };
    const added = await call('POST', '/v3/asm/suppressions/global', { body });
    expect([added.statusCode, added.body]).toEqual([201, body]);
    expect((await ours('/v1/suppressions?address=dan@example.net')).data).toMatchObject([{ scope: 'all' }]);
    const found = await call('GET', '/v3/asm/suppressions/global/dan@example.net');
    expect(found.body).toEqual({ recipient_email: 'dan@example.net' });
    expect((await call('DELETE', '/v3/asm/suppressions/global/dan@example.net')).statusCode).toBe(204);
    expect((await call('GET', '/v3/asm/suppressions/global/dan@example.net')).body).toEqual({});
    // The complaint stays.
    await call('POST', '/v3/asm/suppressions/global', { body: { recipient_emails: ['bob@example.net'] } });
    expect(await refused('DELETE', '/v3/asm/suppressions/global/bob@example.net')).toContain('409 null the address is');
  });

  test('/v3/stats: counts by day, week and month', async () => {
    const mail = { from: { email: 'a@a.test' }, subject: 'Hi', content: [{ type: 'text/plain', value: 'Hi' }] };
    const sent = await call('POST', '/v3/mail/send', {
      body: { ...mail, personalizations: [{ to: [{ email: 'f@example.net' }] }] },
    });
    expect(sent.statusCode).toBe(202);
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    for (const aggregated_by of ['day', 'week', 'month']) {
      const qs = { start_date: day(-1), end_date: day(1), aggregated_by };
      const { body } = await call('GET', '/v3/stats', { qs });
      expect(body[0].date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      const requests = body.map(
        (one: { stats: { metrics: { requests: number } }[] }) => one.stats[0]?.metrics.requests,
      );
      expect(requests.reduce((sum: number, one: number) => sum + one, 0)).toBe(1);
    }
    const { body } = await call('GET', '/v3/stats', { qs: { start_date: day(-1), end_date: day(-1) } });
    expect(body.map(({ date }: { date: string }) => date)).toEqual([day(-1)]);
    expect(body[0].stats[0].metrics).toMatchObject({ requests: 0, delivered: 0, bounces: 0, unique_opens: 0 });
  });

  test('DELETE /v3/suppression: deletes some addresses, and all of a list', async () => {
    const csv = ['u1', 'u2', 'u3', 'u4'].map((name) => `${name}@example.com,bounce`).join('\n');
    await post('/v1/suppressions/import', { csv: `address,reason\n${csv}\nkept@example.com,complaint\n` });
    const url = '/v3/suppression/bounces';
    const some = { emails: ['u1@example.com', 'U2@example.com', 'kept@example.com', 'none@example.com'] };
    expect((await call('DELETE', url, { body: { emails: ['u1@example.com', 'none@example.com'] } })).statusCode).toBe(
      204,
    );
    expect((await call('GET', url)).body).toHaveLength(3);
    // The complaint is on another list.
    expect(await refused('DELETE', url, { body: some })).toContain('409 null the address is also suppressed');
    expect((await call('DELETE', url, { body: { delete_all: true } })).statusCode).toBe(204);
    expect((await call('GET', url)).body).toEqual([]);
    expect((await ours('/v1/suppressions?address=kept@example.com')).data).toHaveLength(1);
    // An address that a complaint suppresses too stays, and does not stop the others.
    const both = ['both', 'u5', 'u6'].map((name) => `${name}@example.com,bounce`).join('\n');
    await post('/v1/suppressions/import', { csv: `address,reason\n${both}\nboth@example.com,complaint\n` });
    expect((await call('DELETE', url, { body: { delete_all: true } })).statusCode).toBe(204);
    expect((await call('GET', url)).body).toMatchObject([{ email: 'both@example.com' }]);
    expect((await ours('/v1/suppressions?address=both@example.com')).data[0].entries).toHaveLength(2);
    expect((await call('DELETE', '/v3/suppression/blocks', { body: { delete_all: true } })).statusCode).toBe(204);
    const many = Array.from({ length: 501 }, () => 'a@b.test');
    for (const [body, sentence] of [
      [{}, '400 emails emails must be an array'],
      [{ delete_all: 'true' }, '400 emails emails must be an array'],
      [{ delete_all: true, emails: [] }, '400 emails emails is not allowed together with delete_all'],
      [{ delete_all: true, other: 1 }, '400 other other is not a known field'],
      [{ emails: [7] }, '400 emails emails must be an array of text'],
      [{ emails: many }, '400 emails emails must have at most 500 items'],
      [{ emails: ['a@b.test\r\nBcc: c@d.test'] }, '400 emails emails is not an email address'],
    ] as const)
      expect(await refused('DELETE', url, { body })).toContain(sentence);
    expect(await refused('DELETE', '/v3/suppression/constructor', { body: { delete_all: true } })).toContain(
      '404 null',
    );
  });

  test('/v3/categories/stats: counts messages of each category', async () => {
    const mail = { from: { email: 'a@a.test' }, subject: 'Hi', content: [{ type: 'text/plain', value: 'Hi' }] };
    for (const categories of [['news'], ['news', 'spring']]) {
      const body = { ...mail, categories, personalizations: [{ to: [{ email: 'f@example.net' }] }] };
      await call('POST', '/v3/mail/send', { body });
    }
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const period = { start_date: day(-1), end_date: day(1), aggregated_by: 'month' };
    const requests = async (url: string, qs: object = {}) => {
      const { body } = await call('GET', url, { qs: { ...period, ...qs } });
      const all = body.flatMap(({ stats }: { stats: object[] }) => stats);
      const sums: Record<string, number> = {};
      for (const { type, name, metrics } of all) {
        expect(type).toBe('category');
        sums[name] = (sums[name] ?? 0) + metrics.requests;
      }
      return sums;
    };
    const url = '/v3/categories/stats';
    expect(await requests(`${url}?categories=news`)).toEqual({ news: 2 });
    const all = { news: 2, spring: 1, none: 0 };
    expect(await requests(`${url}?categories=news&categories=spring&categories=none`)).toEqual(all);
    // The client writes `categories[]=news`, other programs `categories%5B0%5D=news`.
    expect(await requests(url, { categories: ['news', 'spring', 'none'] })).toEqual(all);
    expect(await requests(url, { categories: ['news'] })).toEqual({ news: 2 });
    expect(await requests(`${url}?categories%5B0%5D=news&categories%5B1%5D=spring`)).toEqual({ news: 2, spring: 1 });
    const many = Array.from({ length: 11 }, (_, index) => `categories=${index}`).join('&');
    expect(await refused('GET', `/v3/categories/stats?${many}`, { qs: period })).toContain('400 categories categories');
    for (const [qs, sentence] of [
      [period, '400 categories categories'],
      [{ ...period, categories: '' }, '400 categories categories'],
      [{ ...period, categories: [''] }, '400 categories categories'],
      [{ ...period, categories: Array.from({ length: 11 }, String) }, '400 categories categories'],
      [{ ...period, categories: ['a\0b'] }, '400 categories categories'],
      [{ ...period, categories: [['a']] }, '400 '],
      [{ ...period, categories: 'a\0b' }, '400 categories categories'],
      [{ ...period, end_date: '2026-02-31', categories: 'news' }, '400 end_date end_date must'],
    ] as const)
      expect(await refused('GET', '/v3/categories/stats', { qs })).toContain(sentence);
  });

  test('names the parameters of the program in errors', async () => {
    const many = Array.from({ length: 1_001 }, () => 'a@b.test');
    for (const [method, url, more, sentence] of [
      ['GET', '/v3/stats', {}, '400 start_date start_date is required'],
      ['GET', '/v3/stats', { qs: { start_date: 'yesterday' } }, '400 start_date start_date must be a date'],
      ['GET', '/v3/stats', { qs: { start_date: '2026-01-01', end_date: 'x' } }, '400 end_date end_date must be a date'],
      [
        'GET',
        '/v3/stats',
        { qs: { start_date: '2026-02-01', end_date: '2026-01-01' } },
        '400 start_date start_date must',
      ],
      ['GET', '/v3/suppression/others', {}, '404 null no such list'],
      ['GET', '/v3/suppression/constructor', {}, '404 null no such list'],
      ['GET', '/v3/suppression/bounces/no-address', {}, '400 email email is not an email address'],
      ['GET', '/v3/suppression/bounces', { qs: { limit: 501 } }, '400 limit limit must be'],
      ['GET', '/v3/suppression/bounces', { qs: { email: 'a\r\nb' } }, '400 email email is not an email address'],
      ['POST', '/v3/asm/suppressions/global', { body: {} }, '400 recipient_emails recipient_emails must be an array'],
      ['POST', '/v3/asm/suppressions/global', { body: { recipient_emails: ['a@b.test', 'x'] } }, 'recipient_emails[1]'],
      [
        'POST',
        '/v3/asm/suppressions/global',
        { body: { recipient_emails: ['a@b.test\r\nBcc: c@d.test'] } },
        '400 recip',
      ],
      ['POST', '/v3/asm/suppressions/global', { body: { recipient_emails: many } }, 'must have at most 1000 items'],
    ] as const)
      expect(await refused(method, url, more)).toContain(sentence);
  });

  test('names a field where the program wrote it, and once', async () => {
    const to = [{ email: 'g@example.net' }];
    const errorsOf = async (more: object) => {
      const base = { from: { email: 'a@a.test' }, subject: 'Hi', content: [{ type: 'text/plain', value: 'Hi' }] };
      const payload = { ...base, personalizations: [{ to }, { to }], ...more };
      const { body } = await ask('sendgrid', 'POST', '/v3/mail/send', { payload });
      return body.errors.map(({ message }: { readonly message: string }) => message);
    };
    expect(await errorsOf({ attachments: [{ filename: 'a', content: '!' }] })).toEqual([
      'attachments[0].content must be base64 (RFC 4648 §4) without line breaks',
    ]);
    expect(await errorsOf({ personalizations: [{ to }, { to, subject: 'x\r\ny' }] })).toEqual([
      expect.stringContaining('personalizations[1].subject'),
    ]);
    expect(await errorsOf({ personalizations: [{ to }, {}] })).toEqual(['personalizations[1].to is required']);
    expect(await errorsOf({ from: { email: 'nobody' } })).toEqual([expect.stringMatching(/^from\.email /)]);
    expect(await errorsOf({ headers: { Bcc: 'x@y.test' } })).toEqual([expect.stringMatching(/^headers\.Bcc /)]);
    expect(await errorsOf({ personalizations: [{ to, dynamic_template_data: { a: 1 } }] })).toEqual([
      'template_id is required',
      'subject is not allowed with a template: the template sets it',
      'content is not allowed with a template: the template sets it',
    ]);
    expect(await errorsOf({ headers: 'x' })).toEqual([expect.stringMatching(/^headers /)]);
  });

  test('writes its own Message-ID, whatever the program sends', async () => {
    const headers = { 'message-id': '<x@evil.test>\r\nBcc: x@y.test', 'X-Order': '1' };
    const mail = {
      from: { email: 'a@a.test' },
      subject: 'Id',
      content: [{ type: 'text/plain', value: 'Hi' }],
      headers,
    };
    const payload = { ...mail, personalizations: [{ to: [{ email: 'h@example.net' }], headers }] };
    const sent = await ask('sendgrid', 'POST', '/v3/mail/send', { payload });
    expect(sent.status).toBe(202);
    const id = sent.headers['x-message-id'];
    expect(await ours(`/v1/messages/${id}`)).toMatchObject({ message_id: `<${id}@a.test>` });
    expect((await ours(`/v1/messages/${id}/content`)).headers).toEqual({ 'X-Order': '1' });
  });

  test('shows and changes nothing of another organization', async () => {
    const other = await now.service.makeOrganization();
    const { value: by } = await now.service.makeKey(other, await now.service.makeDomain(other, 'b.test'));
    expect((await ask('sendgrid', 'GET', '/v3/suppression/spam_reports', { by })).body).toEqual([]);
    expect((await ask('sendgrid', 'DELETE', '/v3/suppression/spam_reports/bob@example.net', { by })).status).toBe(404);
    expect((await ask('sendgrid', 'DELETE', '/v3/asm/suppressions/global/eve@example.net', { by })).status).toBe(204);
    expect((await ours('/v1/suppressions?address=eve@example.net')).data).toHaveLength(1);
  });
});
