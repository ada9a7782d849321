import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { receive } from '../support/received-mail.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let organizationId: string;
let domainId: string;
let key: string;
const keys: Record<string, string> = {};

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  const second = await service.makeDomain(organizationId, 'second.test');
  const make = async (of: string, id: string, more: object) => (await service.makeKey(of, id, more)).value;
  key = await make(organizationId, domainId, { permissions: ['read'] });
  keys.test = await make(organizationId, domainId, { environment: 'test' });
  keys.manager = await make(organizationId, domainId, {});
  keys.sender = await make(organizationId, domainId, { permissions: ['send'] });
  keys.second = await make(organizationId, second, { permissions: ['read'] });
  const other = await service.makeOrganization();
  keys.other = await make(other, await service.makeDomain(other, 'other.test'), {});
});
afterAll(() => service.close());

let mails = 0;
const receiveOne = (more: Partial<Parameters<typeof receive>[1]> = {}) => {
  mails += 1;
  const to = `support+${mails}@example.test`;
  return receive(service.deps.context, { organizationId, environment: 'live', domainId, to, ...more });
};
const get = (path: string, by = key) => service.request({ url: `/v1/inbound/${path}`, key: by });

describe('an inbound message', () => {
  test('is shown with its bodies, its verdicts and the reply in it', async () => {
    const id = await receiveOne({ to: 'sales@example.test', facts: { isAutomatic: true } });
    const answer = await get(id);
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({
      ...{ id, object: 'inbound_message', domain_id: domainId, environment: 'live' },
      ...{ envelope: { from: 'ann@example.net', to: 'sales@example.test' }, subject: 'Re: Order 42' },
      ...{ from: [{ name: 'Ann', address: 'ann@example.net' }], text: 'Thanks!\n\n> Hello', reply: 'Thanks!' },
      ...{ html: null, sanitized_html: null, automatic: true, marked: false, problems: [] },
      verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
      attachments: [
        {
          ...{ filename: 'evil.html', content_type: 'text/html', size_bytes: 25, content_id: null },
          url: expect.stringMatching(/^http:\/\/localhost\/inbound-attachments\/[\w-]{64}$/),
        },
      ],
    });
  });

  test('is returned as it was received, as a file that no browser shows', async () => {
    const raw = 'Subject: x\r\n\r\n\u0000\u00ff';
    const answer = await get(`${await receiveOne({ raw })}/raw`);
    expect(answer.rawPayload).toEqual(Buffer.from(raw));
    expect(answer.headers).toMatchObject({
      'content-type': 'message/rfc822',
      'x-content-type-options': 'nosniff',
      'content-disposition': expect.stringMatching(/^attachment; filename="inb_[a-z2-7]{26}\.eml"$/),
      'cache-control': 'no-store',
    });
  });

  test('returns its attachments without their names and types', async () => {
    const id = await receiveOne();
    const answer = await get(`${id}/attachments/0`);
    expect([answer.statusCode, answer.body]).toEqual([200, '<script>alert(1)</script>']);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${id}-0"`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    });
    for (const place of ['1', '-1', '1.0', '01', '999999', 'x', '%00'])
      expect([place, (await get(`${id}/attachments/${place}`)).statusCode]).toEqual([place, 404]);
  });

  test('is previewed by its sanitized html, which can load nothing remote, with images of its own parts', async () => {
    const raw = [
      'From: ann@example.net',
      'MIME-Version: 1.0',
      'Content-Type: multipart/related; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      '',
      '<img src="cid:logo">',
      '--b',
      'Content-Type: image/png',
      'Content-ID: <logo>',
      'Content-Transfer-Encoding: base64',
      '',
      'iVBORw0KGgo=',
      '--b--',
      '',
    ].join('\r\n');
    const html = '<script>alert(1)</script><img src="https://t.example/a.png">';
    const sanitizedHtml = '<img src="https://t.example/a.png"><img src="cid:logo"><base href="https://t.example/">';
    const id = await receiveOne({ raw, body: { html, sanitizedHtml } });
    const answer = await get(`${id}/preview`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy':
        "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    });
    expect(answer.body).toContain('<img src="data:image/png;base64,iVBORw0KGgo=">');
    expect(answer.body).not.toContain('script');
    expect(answer.body).not.toContain('<base href');
    const remote = await get(`${id}/preview?images=remote`);
    expect(remote.headers['content-security-policy']).toContain('img-src data: https:;');
    expect((await get(`${id}/preview?images=all`)).statusCode).toBe(400);
  });

  test('without html is previewed by its text', async () => {
    const id = await receiveOne({ body: { text: '<b onclick=x>Hi</b>' } });
    expect((await get(`${id}/preview`)).body).toContain('<pre>&lt;b onclick=x&gt;Hi&lt;/b&gt;</pre>');
    const empty = await receiveOne({ body: { text: null } });
    expect((await get(`${empty}/preview`)).body).toContain('<pre></pre>');
  });

  test('with parts deeper than any reader goes has no attachments', async () => {
    const raw = `${'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n'.repeat(10_000)}x`;
    const id = await receiveOne({ raw });
    expect((await get(`${id}/attachments/0`)).statusCode).toBe(404);
    expect((await get(`${id}/raw`)).statusCode).toBe(200);
  });

  test('is shown only to its organization, in its environment, and to keys of its domain', async () => {
    const id = await receiveOne();
    const testId = await receiveOne({ environment: 'test' });
    for (const path of ['', '/raw', '/preview', '/attachments/0']) {
      expect((await get(`${id}${path}`, keys.other)).statusCode).toBe(403);
      expect((await get(`${id}${path}`, keys.test)).statusCode).toBe(404);
      expect((await get(`${id}${path}`, keys.second)).statusCode).toBe(404);
      expect((await get(`${id}${path}`, keys.sender)).statusCode).toBe(403);
      expect((await get(`${testId}${path}`)).statusCode).toBe(404);
      expect((await get(`${testId}${path}`, keys.test)).statusCode).toBe(200);
      expect((await get(`inb_aaaaaaaaaaaaaaaaaaaaaaaaaa${path}`)).statusCode).toBe(404);
    }
  });

  test('is 410 once its content was removed, and unavailable if it is missing without a reason', async () => {
    const id = await receiveOne();
    const { contents } = service.deps.context;
    const body = { kind: 'expired', at: '2026-01-01T00:00:00.000Z' } as const;
    const contentsRead = vi
      .spyOn(contents, 'get')
      .mockImplementation(async (ids) => new Map(ids.map((one) => [one, body])));
    const gone = await get(id);
    expect([gone.statusCode, gone.json().error.code]).toEqual([410, 'content_gone']);
    contentsRead.mockImplementation(async () => new Map());
    expect((await get(`${id}/raw`)).statusCode).toBe(503);
    contentsRead.mockRestore();
  });

  test('shows its deliveries to keys with manage, of its own organization and environment only', async () => {
    const id = await receiveOne();
    expect((await get(`${id}/deliveries`)).statusCode).toBe(403);
    expect((await get(`${id}/deliveries`, keys.other)).statusCode).toBe(403);
    expect((await get(`${id}/deliveries`, keys.test)).statusCode).toBe(404);
    expect((await get('inb_aaaaaaaaaaaaaaaaaaaaaaaaaa/deliveries', keys.manager)).statusCode).toBe(404);
    expect((await get('x/deliveries', keys.manager)).statusCode).toBe(404);
  });

  test('is resent by keys with manage, of its own organization and environment only', async () => {
    const id = await receiveOne({ facts: { action: 'store' } });
    const resend = async (by = keys.manager ?? '') => {
      const answer = await service.request({ method: 'POST', url: `/v1/inbound/${id}/resend`, key: by, payload: {} });
      return [answer.statusCode, answer.json().error?.code ?? answer.json().data];
    };
    expect(await resend(key)).toEqual([403, 'permission_missing']);
    expect(await resend(keys.other)).toEqual([403, 'other_organization']);
    expect(await resend(keys.test)).toEqual([404, 'not_found']);
    expect(await resend()).toEqual([202, []]); // no webhook got it
  });
});
