import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { CONFIDENTIAL_HEADER } from '../../../src/domain/ports/mail.ts';
import { createInMemoryInbox } from '../../support/in-memory/inbox.ts';
import { codeOf, openPeople, type People } from '../support/passkey-people.ts';
import { type Service, startService } from '../support/service.ts';
import { nextAddress, SAME_ORIGIN } from '../support/sign-in.ts';

const inbox = createInMemoryInbox();
let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService({ inbox });
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'a.test'))).value;
  await service.makeDomain(await service.makeOrganization(), 'other.test');
  for (const [from, to, subject] of [
    ['x@a.test', 'ann@b.test', 'Welcome'],
    ['x@a.test', 'bob@b.test', 'Your receipt'],
    ['x@other.test', 'ann@b.test', 'Welcome to another'],
  ] as const)
    await inbox.store({
      environment: 'live',
      from,
      to: [to],
      raw: Buffer.from(`Subject: ${subject}\r\n\r\nHi\r\n`),
      receivedAt: new Date(0),
    });
});
afterAll(() => service.close());

const subjects = async (query: string): Promise<readonly string[]> => {
  const { data } = (await service.request({ url: `/v1/inbox?${query}`, key })).json();
  return data.map(({ subject }: { subject: string }) => subject);
};

test('captured mail is found by recipient and subject, and is the organization’s own', async () => {
  expect(await subjects('to=ANN@b.test')).toEqual(['Welcome']);
  expect(await subjects('subject=receipt')).toEqual(['Your receipt']);
  expect(await subjects('to=ann@b.test&subject=receipt')).toEqual([]);
  const unknown = await service.request({ url: '/v1/inbox?recipient=x', key });
  expect(unknown.json().error.details).toEqual({ recipient: [expect.any(String)] });
});

test('a captured mail is read and deleted by its id, never another organization’s', async () => {
  const ask = async (method: 'GET' | 'DELETE', id: string) => {
    const { statusCode, body } = await service.request({ method, url: `/v1/inbox/${id}`, key });
    return { statusCode, body: body === '' ? null : JSON.parse(body) };
  };
  await inbox.store({
    environment: 'live',
    from: 'x@a.test',
    to: ['ann@b.test'],
    receivedAt: new Date(0),
    raw: Buffer.from('Subject: Once\r\n\r\nHi\r\n'),
  });
  const [listed] = (await service.request({ url: '/v1/inbox?subject=once', key })).json().data;
  expect(Object.keys(listed).sort()).toEqual([
    ...['attachments', 'confidential', 'envelope', 'id', 'object', 'received_at', 'size_bytes', 'subject'],
  ]);
  const headers = [{ name: 'Subject', value: 'Once' }];
  expect(await ask('GET', listed.id)).toEqual({
    statusCode: 200,
    body: { ...listed, headers, text: 'Hi\n', html: null, truncated: false },
  });
  const others = (await inbox.list({ limit: 1, subject: 'another' })).mails[0]?.id ?? '';
  for (const id of [others, '0', 'x'])
    for (const method of ['GET', 'DELETE'] as const)
      expect(await ask(method, id)).toMatchObject({ statusCode: 404, body: { error: { code: 'not_found' } } });
  expect(await ask('DELETE', listed.id)).toEqual({ statusCode: 204, body: null });
  expect((await ask('GET', listed.id)).statusCode).toBe(404);
  expect(await subjects('')).toEqual(['Your receipt', 'Welcome']);
});

test('captured mail is deleted by the same filters, never another organization’s', async () => {
  const remove = async (query: string) =>
    (await service.request({ method: 'DELETE', url: `/v1/inbox?${query}`, key })).statusCode;
  expect(await remove('subject=receipt')).toBe(204);
  expect(await subjects('')).toEqual(['Welcome']);
  expect([await remove(''), await remove('')]).toEqual([204, 204]);
  expect(await subjects('')).toEqual([]);
  expect((await inbox.list({ limit: 10 })).mails.map(({ subject }) => subject)).toEqual(['Welcome to another']);
});

test('a test key sees and deletes what was simulated, and a live key what was sent', async () => {
  const own = createInMemoryInbox();
  const capturing = await startService({ inbox: own });
  onTestFinished(capturing.close);
  const organizationId = await capturing.makeOrganization();
  const domainId = await capturing.makeDomain(organizationId, 'a.test');
  for (const environment of ['live', 'test'] as const) {
    const raw = Buffer.from(`Subject: ${environment}\r\n\r\nHi\r\n`);
    await own.store({ environment, from: 'x@a.test', to: ['ann@b.test'], raw, receivedAt: new Date(0) });
  }
  for (const environment of ['test', 'live'] as const) {
    const { value } = await capturing.makeKey(organizationId, domainId, { environment });
    const look = async () => (await capturing.request({ url: '/v1/inbox', key: value })).json().data;
    expect((await look()).map(({ subject }: { subject: string }) => subject)).toEqual([environment]);
    expect((await capturing.request({ method: 'DELETE', url: '/v1/inbox', key: value })).statusCode).toBe(204);
    expect(await look()).toEqual([]);
  }
});

describe('contents of captured mail', () => {
  const MINUTE_MS = 60_000;
  const own = createInMemoryInbox();
  const real = createSystem();
  let shiftMs = 0;
  let people: People;
  let capturing: Service;
  const ids: Record<'ordinary' | 'link', string> = { ordinary: '', link: '' };

  const RAW = [
    'Subject: With a file',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/html',
    '',
    '<script>alert(1)</script>',
    '--b',
    'Content-Type: text/html; name="a;b.html"',
    'Content-Disposition: attachment; filename="a;b.html"',
    '',
    '<script>alert(2)</script>',
    '--b--',
    '',
  ].join('\r\n');

  beforeAll(async () => {
    capturing = await startService({
      inbox: own,
      publicUrl: 'http://127.0.0.1:3000',
      context: { system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } },
    });
    people = await openPeople(capturing);
    for (const raw of [RAW, `${CONFIDENTIAL_HEADER}: yes\r\nSubject: Sign in\r\n\r\nhttps://x.test/#ob_link_x\r\n`])
      await own.store({
        environment: 'live',
        from: 'x@one.test',
        to: ['a@b.test'],
        raw: Buffer.from(raw),
        receivedAt: new Date(),
      });
    // Both mails were stored above.
    [ids.link, ids.ordinary] = (await own.list({ limit: 2 })).mails.map(({ id }) => id) as [string, string];
  });
  afterAll(() => capturing.close());

  const readAs = async (who: { readonly cookie?: string; readonly key?: string }, path: string) => {
    const { cookie, key } = who;
    const remoteAddress = nextAddress();
    const headers = cookie === undefined ? {} : { cookie, ...SAME_ORIGIN };
    return capturing.request({ url: `/v1/inbox${path}`, headers, remoteAddress, ...(key !== undefined && { key }) });
  };
  const PATHS = ['', '/raw', '/attachments/0'];

  test('show sign-in mail only to an owner who is present', async () => {
    const owner = await people.join('owner');
    const developer = await people.join('developer');
    const others = [{ key: people.key }, developer, await people.join('auditor'), await people.join('analyst')];
    const refused = others.flatMap((who) => PATHS.map((path) => readAs(who, `/${ids.link}${path}`)));
    expect(new Set((await Promise.all(refused)).map((answer) => codeOf(answer).join()))).toEqual(
      new Set(['403,permission_missing']),
    );
    for (const who of [{ key: people.key }, developer, owner]) {
      const list = await readAs(who, '');
      expect(list.json().data).toMatchObject([{ subject: 'Sign in', confidential: true }, { confidential: false }]);
      expect(list.body).not.toContain('ob_link_');
    }
    for (const path of ['', '/raw'])
      expect((await readAs(owner, `/${ids.link}${path}`)).body).toContain('https://x.test/#ob_link_x');
    shiftMs += 10 * MINUTE_MS;
    for (const path of PATHS)
      expect(codeOf(await readAs(owner, `/${ids.link}${path}`))).toEqual([403, 'presence_required']);
  });

  test('show other mail to admin keys, owners and developers, and refuse auditors and analysts', async () => {
    const developer = await people.join('developer');
    for (const who of [{ key: people.key }, await people.join('owner'), developer]) {
      const mail = await readAs(who, `/${ids.ordinary}`);
      expect(mail.json()).toMatchObject({
        html: expect.stringContaining('alert(1)'),
        attachments: [{ filename: 'a;b.html', content_type: 'text/html', size_bytes: 25 }],
      });
      expect((await readAs(who, `/${ids.ordinary}/raw`)).body).toBe(RAW);
    }
    for (const role of ['auditor', 'analyst'])
      for (const path of ['', `/${ids.ordinary}`, `/${ids.ordinary}/raw`, `/${ids.ordinary}/attachments/0`])
        expect(codeOf(await readAs(await people.join(role), path))).toEqual([403, 'permission_missing']);
  });

  test('are files that no browser runs, whatever type they claim', async () => {
    const file = await readAs({ key: people.key }, `/${ids.ordinary}/attachments/0`);
    expect([file.statusCode, file.body]).toEqual([200, '<script>alert(2)</script>']);
    for (const answer of [file, await readAs({ key: people.key }, `/${ids.ordinary}/raw`)]) {
      expect(answer.headers).toMatchObject({
        'content-disposition': expect.stringMatching(/^attachment; filename="[\w.-]+"$/),
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      });
    }
    expect(file.headers['content-type']).toBe('application/octet-stream');
    for (const place of ['1', '01', '-1', '1e0', 'x', '%00', '9999999'])
      expect(codeOf(await readAs({ key: people.key }, `/${ids.ordinary}/attachments/${place}`))).toEqual([
        404,
        'not_found',
      ]);
  });

  test('answer another organization’s mail as mail that does not exist', async () => {
    const other = await people.join('owner', 1);
    for (const path of PATHS)
      for (const id of [ids.ordinary, ids.link])
        expect(codeOf(await readAs(other, `/${id}${path}`))).toEqual([404, 'not_found']);
  });
});
