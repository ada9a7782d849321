import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { readWholeStream } from '../../../../src/commands/execute.ts';
import { membersStream } from '../../../../src/domain/kernel/streams.ts';
import { type MailedLinks, openMailedLinks } from '../../support/mailed-links.ts';
import { type Service, startService } from '../../support/service.ts';
import { signInWith } from '../../support/sign-in.ts';

const PUBLIC_URL = 'https://mail.example.net';
const QUARTER_MS = 15 * 60_000;

let service: Service;
let organizationId: string;
let key: string;
let reader: string;
let shiftMs = 0;
let links: MailedLinks;
const real = createSystem();

beforeAll(async () => {
  service = await startService({
    publicUrl: PUBLIC_URL,
    context: { system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } },
  });
  organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'members.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
  reader = (await service.makeKey(organizationId, domainId, { permissions: ['read'] })).value;
  links = openMailedLinks(service, key);
});
afterAll(() => service.close());

describe('a mailed link', () => {
  test('signs in once, in one of two browsers, and is on record without its token', async () => {
    const { id, email } = await links.join();
    const answer = await links.ask(email.toLowerCase());
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      { object: 'mailed_sign_in_link', expires_in_minutes: 15 },
    ]);
    const { url, html, ...mail } = await links.mailed(email);
    expect(mail).toMatchObject({ from: { address: 'outbox@members.test' }, confidential: true });
    expect(html).toContain(`href="${url}"`);
    expect(url).toMatch(/^https:\/\/mail\.example\.net\/dashboard\/sign-in#ob_link_\w{49}$/);
    const answers = await Promise.all([signInWith(service, url), signInWith(service, url)]);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401]);
    expect((await signInWith(service, url)).statusCode).toBe(401);
    const log = JSON.stringify(await readWholeStream(service.deps.context.store, membersStream(organizationId)));
    expect(log).toContain(`"memberId":"${id}","linkHash"`);
    expect(log).toContain('"mailed":true');
    expect(log).not.toContain(new URL(url).hash.slice(1));
  });

  test('is answered alike for an unknown address, and then not mailed', async () => {
    const { email } = await links.join();
    const [known, unknown] = [await links.ask(email), await links.ask('nobody@example.net')];
    const shown = ({ statusCode, body, headers }: typeof known) => [statusCode, body, Object.keys(headers).sort()];
    expect(shown(unknown)).toEqual(shown(known));
    await links.mailed(email);
    expect(await links.mailsTo('nobody@example.net')).toEqual([]);
  });

  test('cannot be requested too often from one network', async () => {
    const remoteAddress = '203.0.113.77';
    const answers = await Promise.all(
      Array.from({ length: 25 }, (_, index) => links.ask(`nobody${index}@example.net`, { remoteAddress })),
    );
    expect(answers.filter(({ statusCode }) => statusCode === 202).length).toBe(20);
    expect(answers.at(-1)?.json().error.code).toBe('rate_limit_exceeded');
    expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(0);
  });

  test('leads to PUBLIC_URL, whatever the request says', async () => {
    const { email } = await links.join();
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' };
    await links.ask(email, { headers });
    expect((await links.mailed(email)).url).toMatch(/^https:\/\/mail\.example\.net\/dashboard\/sign-in#/);
    const led = await links.ask(email, { payload: { email, return_to: 'https://evil.example' } });
    expect([led.statusCode, led.json().error.details.return_to.length]).toEqual([400, 1]);
  });

  test('of a removed member is invalid, and they get no other', async () => {
    const { id, email } = await links.join();
    await links.ask(email);
    const { url } = await links.mailed(email);
    await service.request({ method: 'DELETE', url: `/v1/members/${id}`, key });
    await expect.poll(async () => (await signInWith(service, url)).statusCode).toBe(401);
    await links.ask(email);
    await links.settle();
    expect((await links.mailsTo(email)).length).toBe(1);
  });

  test('expires after a quarter of an hour', async () => {
    const { email } = await links.join();
    await links.ask(email);
    const { url } = await links.mailed(email);
    shiftMs += QUARTER_MS;
    expect((await signInWith(service, url)).json().error.code).toBe('sign_in_link_invalid');
  });

  test('is shown to no key and no auditor', async () => {
    const { email } = await links.join();
    await links.ask(email);
    const { messageId } = await links.mailed(email);
    for (const part of ['content', 'raw', 'preview']) {
      for (const each of [reader, key]) {
        const answer = await service.request({ url: `/v1/messages/${messageId}/${part}`, key: each });
        expect([part, answer.statusCode, answer.json().error.code]).toEqual([part, 410, 'content_gone']);
      }
    }
  });

  test('is in the language of the request', async () => {
    const { email } = await links.join();
    await links.ask(email, { headers: { 'accept-language': 'ja, en;q=0.5' } });
    const { subject, html } = await links.mailed(email);
    expect([subject, html?.includes('<html lang="ja">')]).toEqual(['Test へのサインイン用リンク', true]);
  });

  test('can be requested by pages of this service only', async () => {
    const { email } = await links.join();
    const answer = await links.ask(email, { headers: { 'sec-fetch-site': 'cross-site' } });
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'cross_site_request']);
  });

  test.each([
    ['a@example.net\r\nBcc: b@example.net'],
    ['a@example.net\n'],
    ['a\u0000@example.net'],
    ['Ann <a@example.net>'],
    ['a@example.net, b@example.net'],
    [`${'a'.repeat(100_000)}@example.net`],
    [['a@example.net']],
    [{ $ne: null }],
    [null],
    [7],
    [''],
  ])('is refused for %j', async (email) => {
    const answer = await links.ask(email);
    expect([answer.statusCode, Object.keys(answer.json().error.details ?? {}).length > 0]).toEqual(
      typeof email === 'string' && email.length > 64_000 ? [413, false] : [400, true],
    );
  });

  test('is refused with a body of 10 MB', async () => {
    expect((await links.ask('a'.repeat(10_000_000))).statusCode).toBe(413);
  });
});

test('ways to sign in are public', async () => {
  const answer = await service.request({ url: '/v1/session/methods' });
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    { object: 'sign_in_methods', mailed_link: { is_captured: true }, oidc: null },
  ]);
  const nobody = await startService();
  expect((await nobody.request({ url: '/v1/session/methods' })).json().mailed_link).toBe(null);
  await nobody.close();
});
