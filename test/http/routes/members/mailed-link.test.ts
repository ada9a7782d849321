import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { readWholeStream } from '../../../../src/commands/execute.ts';
import type { MessageBody } from '../../../../src/domain/ports/contents.ts';
import { LOG_START } from '../../../../src/domain/ports/event-store.ts';
import { membersStream } from '../../../../src/domain/streams.ts';
import { type Service, startService } from '../../support/service.ts';
import { nextAddress, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';

const PUBLIC_URL = 'https://mail.example.net';
const HOUR_MS = 3_600_000;

let service: Service;
let organizationId: string;
let key: string;
let reader: string;
let shiftMs = 0;
let people = 0;
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
});
afterAll(() => service.close());

const invite = async (): Promise<{ readonly id: string; readonly email: string }> => {
  people += 1;
  const email = `Person${people}@Example.net`;
  const answer = await service.request({ method: 'POST', url: '/v1/members', key, payload: { email, role: 'owner' } });
  return { id: answer.json().id, email };
};

const ask = (email: unknown, more: InjectOptions = {}) =>
  service.request({
    method: 'POST',
    url: '/v1/session/links',
    payload: { email },
    remoteAddress: nextAddress(),
    ...more,
    headers: { ...SAME_ORIGIN, ...more.headers },
  });

interface Mail extends MessageBody {
  readonly url: string;
}

/** What was mailed to an address, the oldest first. */
const mailsTo = async (email: string): Promise<readonly Mail[]> => {
  const { store, contents } = service.deps.context;
  const { events } = await store.readAll({ from: LOG_START, filter: {}, limit: 10_000 });
  const ids = events.flatMap((event) => (event.type === 'MessageAccepted' ? [event.data.contentId] : []));
  const bodies = await contents.get(ids);
  return ids.flatMap((id) => {
    const body = bodies.get(id);
    if (body?.kind !== 'message' || body.recipients[0]?.address.toLowerCase() !== email.toLowerCase()) return [];
    return [{ ...body, url: /https?:\/\/\S+/.exec(body.text ?? '')?.[0] ?? '' }];
  });
};

const mailed = async (email: string, count = 1): Promise<Mail> => {
  await expect.poll(async () => (await mailsTo(email)).length, { timeout: 10_000 }).toBe(count);
  return (await mailsTo(email)).at(-1) as Mail;
};

describe('a mailed link', () => {
  test('signs in once, in one of two browsers, and is on record without its token', async () => {
    const { id, email } = await invite();
    const answer = await ask(email.toLowerCase());
    expect([answer.statusCode, answer.json()]).toEqual([
      202,
      { object: 'mailed_sign_in_link', expires_in_minutes: 15 },
    ]);
    const { url, html, ...mail } = await mailed(email);
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

  test('is answered alike where nobody has the address, and mails nobody', async () => {
    const { email } = await invite();
    const [known, unknown] = [await ask(email), await ask('nobody@example.net')];
    const shown = ({ statusCode, body, headers }: typeof known) => [statusCode, body, Object.keys(headers).sort()];
    expect(shown(unknown)).toEqual(shown(known));
    await mailed(email);
    expect(await mailsTo('nobody@example.net')).toEqual([]);
  });

  test('is mailed five times an hour, however often it is asked for, and to nobody else', async () => {
    const { email } = await invite();
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(email)));
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([202]));
    await mailed(email, 5);
    const other = await invite();
    await ask(other.email);
    await mailed(other.email); // by then the others were refused
    expect((await mailsTo(email)).length).toBe(5);
    shiftMs += HOUR_MS;
    await ask(email);
    await mailed(email, 6);
  });

  test('is not asked for too often from one network', async () => {
    const remoteAddress = '203.0.113.77';
    const answers = await Promise.all(
      Array.from({ length: 25 }, (_, index) => ask(`nobody${index}@example.net`, { remoteAddress })),
    );
    expect(answers.filter(({ statusCode }) => statusCode === 202).length).toBe(20);
    expect(answers.at(-1)?.json().error.code).toBe('rate_limit_exceeded');
    expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(0);
  });

  test('leads to PUBLIC_URL, whatever the request says', async () => {
    const { email } = await invite();
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' };
    await ask(email, { headers });
    expect((await mailed(email)).url).toMatch(/^https:\/\/mail\.example\.net\/dashboard\/sign-in#/);
    const led = await ask(email, { payload: { email, return_to: 'https://evil.example' } });
    expect([led.statusCode, led.json().error.details.return_to.length]).toEqual([400, 1]);
  });

  test('of a removed member is worth nothing, and they get no other', async () => {
    const { id, email } = await invite();
    await ask(email);
    const { url } = await mailed(email);
    await service.request({ method: 'DELETE', url: `/v1/members/${id}`, key });
    await expect.poll(async () => (await signInWith(service, url)).statusCode).toBe(401);
    await ask(email);
    const other = await invite();
    await ask(other.email);
    await mailed(other.email);
    expect((await mailsTo(email)).length).toBe(1);
  });

  test('is over after a quarter of an hour', async () => {
    const { email } = await invite();
    await ask(email);
    const { url } = await mailed(email);
    shiftMs += 16 * 60_000;
    expect((await signInWith(service, url)).json().error.code).toBe('sign_in_link_invalid');
  });

  test('is shown to no key and no auditor', async () => {
    const { email } = await invite();
    await ask(email);
    const { messageId } = await mailed(email);
    for (const part of ['content', 'raw', 'preview']) {
      for (const each of [reader, key]) {
        const answer = await service.request({ url: `/v1/messages/${messageId}/${part}`, key: each });
        expect([part, answer.statusCode, answer.json().error.code]).toEqual([part, 410, 'content_gone']);
      }
    }
  });

  test('speaks the language of whoever asks', async () => {
    const { email } = await invite();
    await ask(email, { headers: { 'accept-language': 'ja, en;q=0.5' } });
    const { subject, html } = await mailed(email);
    expect([subject, html?.includes('<html lang="ja">')]).toEqual(['Test へのサインイン用リンク', true]);
  });

  test('is asked for by pages of this service alone', async () => {
    const { email } = await invite();
    const answer = await ask(email, { headers: { 'sec-fetch-site': 'cross-site' } });
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
    const answer = await ask(email);
    expect([answer.statusCode, Object.keys(answer.json().error.details ?? {}).length > 0]).toEqual(
      typeof email === 'string' && email.length > 64_000 ? [413, false] : [400, true],
    );
  });

  test('is refused where the body has 10 MB', async () => {
    expect((await ask('a'.repeat(10_000_000))).statusCode).toBe(413);
  });
});

test('ways to sign in are told to anybody', async () => {
  const answer = await service.request({ url: '/v1/session/methods' });
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    { object: 'sign_in_methods', mailed_link: { is_captured: true }, oidc: null },
  ]);
  const nobody = await startService();
  expect((await nobody.request({ url: '/v1/session/methods' })).json().mailed_link).toBe(null);
  await nobody.close();
});
