import type { LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { organizationSecret } from '../../../../src/commands/organization.ts';
import { unsubscribeToken, viewToken } from '../../../../src/domain/message/tokens.ts';
import { clickUrl } from '../../../../src/domain/tracking/tracking.ts';
import { LOCALES } from '../../../../src/http/pages/languages.ts';
import { StoreUnavailable } from '../../../../src/lib/async/async.ts';
import { TRACKING_KEYS } from '../../../support/tracking-keys.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let key: string;
let organizationId: string;
let secret: Uint8Array;
let otherSecret: Uint8Array;

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  const { secrets } = service.deps.context;
  secret = await organizationSecret(secrets, organizationId);
  otherSecret = await organizationSecret(secrets, await service.makeOrganization());
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

interface SentMail {
  readonly id: string;
  readonly tokens: readonly string[];
  readonly recipients: readonly { readonly id: string }[];
}

const send = async (more: object): Promise<SentMail> => {
  const payload = { from: 'a@example.test', to: 'ann@example.org', subject: 'Sale', ...more };
  const answer = await service.request({ method: 'POST', url: '/v1/messages/send', key, payload });
  expect(answer.statusCode).toBe(202);
  const { id, recipients } = answer.json();
  return { id, recipients, tokens: recipients.map((each: { id: string }) => viewToken(secret, id, each.id)) };
};

const view = (token = '', headers: Record<string, string> = {}): Promise<LightMyRequestResponse> =>
  service.request({ url: `/view/${token}`, headers });

const view1 = async (more: object): Promise<string> => {
  const answer = await view((await send(more)).tokens[0]);
  expect(answer.statusCode).toBe(200);
  return answer.body;
};

describe('a mail in the browser', () => {
  test('is its html only, and cannot run, post or be framed', async () => {
    const html = '<p onclick="alert(1)">Hello <b>Ann</b></p><script>alert(2)</script><form action="/"></form>';
    const answer = await view((await send({ html })).tokens[0]);
    expect(answer.body).toBe(html);
    const policy = answer.headers['content-security-policy'];
    expect(policy).toMatch(/^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none';/);
    expect(policy).not.toMatch(/script|allow-same-origin|allow-forms/);
    expect(policy).toMatch(/form-action 'none'; base-uri 'none'; frame-ancestors 'none'$/);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-content-type-options': 'nosniff',
    });
  });

  test('has the tracked links of the recipient’s copy, but no tracking pixel', async () => {
    const html = '<a href="https://a.test/x">1</a><a href="tel:1">2</a><a href="https://a.test/y">3</a>';
    const tracking = { opens: true, clicks: true };
    const { id, tokens, recipients } = await send({ to: ['ann@example.org', 'bob@example.org'], html, tracking });
    const noted = vi.spyOn(service.deps.context.store, 'append');
    for (const [index, token] of tokens.entries()) {
      const copy = { messageId: id, recipientId: recipients[index]?.id ?? '', organizationId, links: 2 };
      const hrefs = ['https://a.test/x', 'https://a.test/y'].map((url, link) =>
        clickUrl(TRACKING_KEYS, '..', { ...copy, link }, url),
      );
      const { body } = await view(token);
      expect([...body.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)).toEqual([hrefs[0], 'tel:1', hrefs[1]]);
      expect(body).not.toContain('<img');
      const followed = await service.request({ url: `/view/${hrefs[1]}` });
      expect([followed.statusCode, followed.headers.location]).toEqual([302, 'https://a.test/y']);
    }
    expect(noted).not.toHaveBeenCalled();
    noted.mockRestore();
  });

  test('names no other recipient', async () => {
    const [to, cc, bcc] = [['to', 'cc', 'bcc'].map((each) => `${each}@example.org`)].flat();
    const { tokens } = await send({ to, cc, bcc, html: '<p>{{ view_url }}</p>' });
    for (const token of tokens) {
      expect((await view(token)).body).toBe(`<p>http://localhost/view/${token}</p>`);
    }
  });

  test('without html is its text, as text', async () => {
    const body = await view1({ subject: 'A & <b>', text: 'Hello <script>alert(1)</script>\n{{view_url}}' });
    expect(body).toContain('<title>A &amp; &lt;b&gt;</title>');
    expect(body).toContain('<pre>Hello &lt;script&gt;alert(1)&lt;/script&gt;\nhttp://localhost/view/');
  });

  test('shows its inline images, but nothing that is not an image, not attached or too large', async () => {
    const attached = (content_id: string, content_type: string, bytes = 3) => ({
      filename: content_id,
      content: Buffer.alloc(bytes, 1).toString('base64'),
      content_type,
      content_id,
    });
    const attachments = [
      attached('a@b', 'image/png'),
      attached('page', 'text/html'),
      attached('large', 'image/png', 4_000_000),
    ];
    const html = `<p style="background:url(cid:a@b)">cid:a@b</p><img src="cid:a%40b" alt="1"><img src='cid:none' alt="2">
<img src="cid:page" alt="3"><img src="cid:large" alt="4"><img src="cid:%zz" alt="5">`;
    const image = 'data:image/png;base64,AQEB';
    expect(
      await view1({ html, attachments }),
    ).toBe(`<p style="background:url(${image})">cid:a@b</p><img src="${image}" alt="1"><img src='cid:none' alt="2">
<img src="cid:page" alt="3"><img src="cid:large" alt="4"><img src="cid:%zz" alt="5">`);
  });
});

describe('a link to a mail', () => {
  const spoiled = (token: string): string => `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;

  test('that is forged, of another message or for another purpose is 404', async () => {
    const [one, other] = [await send({ text: '1' }), await send({ text: '2' })];
    const [recipient, stranger] = [one.recipients[0]?.id ?? '', other.recipients[0]?.id ?? ''];
    const token = one.tokens[0] ?? '';
    const forged = [
      spoiled(token),
      token.slice(1),
      `${token}A`,
      token.repeat(128),
      'A'.repeat(64),
      '..%2F..%2Fv1%2Fmessages',
      viewToken(otherSecret, one.id, recipient),
      viewToken(secret, one.id, stranger),
      unsubscribeToken(secret, one.id, recipient),
    ];
    for (const bad of forged) {
      const answer = await view(bad);
      expect(answer.statusCode).toBe(404);
      expect(answer.body).toContain('<h1>This link is not valid</h1>');
    }
    const unsubscribing = await service.request({ url: `/unsubscribe/${token}` });
    expect(unsubscribing.statusCode).toBe(404);
  });

  test.each(LOCALES)('whose content is gone is 410 and says so in $tag', async ({ tag, say }) => {
    const { tokens } = await send({ text: 'Secret' });
    vi.spyOn(service.deps.context.contents, 'get').mockImplementationOnce(
      async (ids) => new Map(ids.map((id) => [id, { kind: 'expired', at: '2026-01-01T00:00:00.000Z' }])),
    );
    const answer = await view(tokens[0], { 'accept-language': tag });
    expect(answer.statusCode).toBe(410);
    expect(answer.body).toContain(`<html lang="${tag}">`);
    expect(answer.body).toContain(`<h1>${say.goneTitle}</h1>`);
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
  });

  test('is 503 while the contents cannot be read', async () => {
    const { tokens } = await send({ text: 'Later' });
    vi.spyOn(service.deps.context.contents, 'get').mockRejectedValueOnce(new StoreUnavailable('away'));
    expect((await view(tokens[0])).statusCode).toBe(503);
  });

  test('works only by GET and HEAD', async () => {
    const { tokens } = await send({ text: 'Hello' });
    const url = `/view/${tokens[0]}`;
    expect((await service.request({ method: 'HEAD', url })).statusCode).toBe(200);
    expect((await service.request({ method: 'POST', url })).statusCode).toBe(405);
  });
});
