import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openUrl } from '../../../../src/domain/tracking/tracking.ts';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';

let service: DatabaseService;
let key: string;
let sender: string;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
  sender = (await service.makeKey(organizationId, domainId, { permissions: ['send'] })).value;
});
afterAll(() => service.close());

const ask = (url: string, by = key) => service.request({ url, key: by });

const send = async (more: object): Promise<string> => {
  const payload = { from: 'Shop <a@example.test>', to: 'b@example.org', subject: 'Grüße', ...more };
  const { statusCode, body } = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
  expect([statusCode, body]).toEqual([202, body]);
  return JSON.parse(body).id;
};

const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the preview of a message', () => {
  test('is a document of its own under a policy of its own', async () => {
    const id = await send({ html: '<p style="color: red">Hello</p>' });
    const { statusCode, headers, body } = await ask(`/v1/messages/${id}/preview`);
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['content-security-policy']).toBe(
      "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    );
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-dns-prefetch-control': 'off',
    });
    expect(body).toBe('<base target="_blank"><p style="color: red">Hello</p>');
  });

  test('may load external images on request, and never our own open pixel', async () => {
    const pixel = openUrl(service.deps.trackingKeys, 'https://track.example.test/base', {
      messageId: 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa',
      recipientId: 'rcp_aaaaaaaaaaaaaaaaaaaaaaaaaa',
      organizationId: 'org_aaaaaaaaaaaaaaaaaaaaaaaaaa',
    });
    const id = await send({ html: `<img src="https://cdn.example/o/a.png" alt=""><img src="${pixel}" alt="">` });
    const { headers, body } = await ask(`/v1/messages/${id}/preview?images=remote`);
    expect(headers['content-security-policy']).toContain('img-src data: https:;');
    expect(body).toBe('<base target="_blank"><img src="https://cdn.example/o/a.png" alt=""><img src="data:," alt="">');
  });

  test('reads a page of nothing but beginnings of URLs once', async () => {
    const id = await send({ html: 'http://a/'.repeat(100_000) });
    const began = performance.now();
    expect((await ask(`/v1/messages/${id}/preview`)).statusCode).toBe(200);
    expect(performance.now() - began).toBeLessThan(2_000); // reading each candidate to the end takes minutes
  });

  test('shows images of its own attachments, and its text when there is no html', async () => {
    const attachments = [{ filename: 'a.png', content: IMAGE, content_type: 'image/png', content_id: 'logo' }];
    const id = await send({ html: '<!doctype html><img src="cid:logo" alt="">', attachments });
    expect((await ask(`/v1/messages/${id}/preview`)).body).toBe(
      `<!doctype html><base target="_blank"><img src="data:image/png;base64,${IMAGE}" alt="">`,
    );
    const plain = await send({ text: '<script>1</script>' });
    expect((await ask(`/v1/messages/${plain}/preview`)).body).toContain('<pre>&lt;script&gt;1&lt;/script&gt;</pre>');
  });

  test('removes what would contact other hosts or lead links elsewhere before a policy applies', async () => {
    const html =
      '<LINK rel="preconnect" href="https://t.example"><base href="https://t.example/"><p title="<link x">Hi</p>';
    const { body } = await ask(`/v1/messages/${await send({ html, analysis: 'off' })}/preview`);
    expect(body.replace('<base target="_blank">', '')).not.toMatch(/<(?:link|base|meta)[\s/>]/i);
    expect(body).toContain('Hi</p>');
  });
});

describe('the source of a message', () => {
  test('is a file with its headers and parts, without the recipients of blind copies', async () => {
    const attachments = [{ filename: 'a.txt', content: 'aGVsbG8=', content_type: 'text/plain' }];
    const id = await send({ html: '<p>Hello</p>', bcc: 'blind@example.org', attachments, headers: { 'X-Order': '7' } });
    const { statusCode, headers, body } = await ask(`/v1/messages/${id}/raw`);
    expect([statusCode, headers['content-type']]).toEqual([200, 'message/rfc822']);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="${id}.eml"`,
      'content-security-policy': "sandbox; default-src 'none'",
    });
    expect(body).toMatch(/^Date: .*\r\nFrom: Shop <a@example\.test>\r\n/);
    for (const part of [
      'Subject: =?UTF-8?',
      `Message-ID: <${id}@`,
      'X-Order: 7',
      '<p>Hello</p>',
      'aGVsbG8=',
      'text/plain',
    ])
      expect(body).toContain(part);
    for (const absent of ['blind@', 'DKIM-Signature', 'Feedback-ID', 'List-Unsubscribe'])
      expect(body).not.toContain(absent);
    expect(body.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  });

  test('contains no link that would unsubscribe a recipient, except the sender’s own', async () => {
    const managed = await send({ html: '<p>Hi</p>', unsubscribe: 'managed', stream: 'bulk' });
    expect((await ask(`/v1/messages/${managed}/raw`)).body).not.toContain('List-Unsubscribe');
    const own = await send({ html: '<p>Hi</p>', unsubscribe: { url: 'https://shop.example/u' } });
    expect((await ask(`/v1/messages/${own}/raw`)).body).toContain('List-Unsubscribe: <https://shop.example/u>');
  });
});

describe('reading a message in the view', () => {
  test.each(['preview', 'raw'])('%s is recorded, and requires permission to read', async (view) => {
    const id = await send({ text: 'Hello' });
    expect((await ask(`/v1/messages/${id}/${view}`, sender)).statusCode).toBe(403);
    expect((await ask(`/v1/messages/msg_${'a'.repeat(26)}/${view}`)).statusCode).toBe(404);
    expect((await ask(`/v1/messages/${id}/${view}?x=1`)).statusCode).toBe(400);
    expect((await ask(`/v1/messages/${id}/${view}`)).statusCode).toBe(200);
    const entries = (await ask('/v1/audit/log?type=DataRead&limit=1')).json().data;
    expect(entries).toMatchObject([{ data: { what: 'message_content', subjectId: id } }]);
  });
});
