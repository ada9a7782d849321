import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { readWholeStream } from '../../../../src/commands/execute.ts';
import { membersStream, sessionStream } from '../../../../src/domain/kernel/streams.ts';
import { type Service, startService } from '../../support/service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';

const HOUR_MS = 3_600_000;

let service: Service;
let organizationId: string;
let key: string;
let shiftMs = 0;
let people = 0;
const real = createSystem();

beforeAll(async () => {
  service = await startService({
    publicUrl: 'http://localhost:3000',
    context: { system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } },
  });
  organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'members.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
});
afterAll(() => service.close());

const invite = async (role = 'owner'): Promise<{ id: string; url: string }> => {
  people += 1;
  const payload = { email: `person${people}@example.net`, role };
  const answer = await service.request({ method: 'POST', url: '/v1/members', key, payload });
  expect(answer.statusCode, answer.body).toBe(201);
  return { id: answer.json().id, url: answer.json().link.url };
};

const signIn = async (role = 'owner') => {
  const { id, url } = await invite(role);
  const answer = await signInWith(service, url);
  return { memberId: id, sessionId: answer.json().id as string, cookie: cookieOf(answer), answer };
};

const ask = (cookie: string, url = '/v1/session', more: object = {}) =>
  service.request({ url, ...more, headers: { cookie, ...SAME_ORIGIN, ...(more as { headers?: object }).headers } });

const codeOf = async (answer: ReturnType<typeof ask>) => {
  const { statusCode, body } = await answer;
  return [statusCode, body === '' ? undefined : JSON.parse(body).error?.code];
};

describe('a link', () => {
  test('starts a session, whose value is only in the cookie', async () => {
    const { answer, memberId, sessionId, cookie } = await signIn('developer');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(String(answer.headers['set-cookie'])).toMatch(
      /^outbox_session=ob_session_\w{49}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=604800$/,
    );
    expect(answer.json()).toMatchObject({
      id: expect.stringMatching(/^ses_/),
      member: { id: memberId, role: 'developer' },
      permissions: ['send', 'read', 'manage'],
      organization: { id: organizationId },
    });
    expect((await ask(cookie)).json()).toEqual(answer.json());
    const { store } = service.deps.context;
    const log = JSON.stringify([
      await readWholeStream(store, sessionStream(sessionId)),
      await readWholeStream(store, membersStream(organizationId)),
    ]);
    expect(log).not.toContain(cookie.split('=')[1]);
    expect(log).not.toContain('@example.net');
    expect(log).toContain(`member:${memberId}`);
  });

  test('over HTTPS sets a cookie that no other host can set', async () => {
    const { url } = await invite();
    const secure = await startServiceAt('https://mail.example.net', url);
    expect(secure).toMatch(/^__Host-outbox_session=ob_session_\w{49}; HttpOnly; Secure; SameSite=Strict; Path=\/;/);
  });

  test('works once, even for two at the same moment', async () => {
    const { url } = await invite();
    const answers = await Promise.all(Array.from({ length: 8 }, () => signInWith(service, url)));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, ...Array(7).fill(401)]);
    expect((await signInWith(service, url)).json().error.code).toBe('sign_in_link_invalid');
  });

  test('ends when its member is removed', async () => {
    const { memberId } = await signIn();
    const made = await service.request({ method: 'POST', url: `/v1/members/${memberId}/links`, key, payload: {} });
    expect((await service.request({ method: 'DELETE', url: `/v1/members/${memberId}`, key })).statusCode).toBe(204);
    await expect.poll(async () => (await signInWith(service, made.json().url)).statusCode).toBe(401);
  });

  test('ends after a quarter of an hour', async () => {
    const { memberId } = await signIn();
    const made = await service.request({ method: 'POST', url: `/v1/members/${memberId}/links`, key, payload: {} });
    shiftMs += 0.25 * HOUR_MS;
    expect((await signInWith(service, made.json().url)).json().error.code).toBe('sign_in_link_invalid');
  });

  test('cannot be guessed: attempts are limited by address, and answered alike', async () => {
    const guess = async (token: unknown) => {
      const payload = { token };
      const remoteAddress = '203.0.113.7';
      return service.request({ method: 'POST', url: '/v1/session', headers: SAME_ORIGIN, payload, remoteAddress });
    };
    const wrong = `ob_link_${'0'.repeat(49)}`;
    const bodies = new Set<string>();
    for (let count = 0; count < 20; count += 1) bodies.add((await guess(count % 2 === 0 ? wrong : 'x')).body);
    expect(bodies.size).toBe(1);
    const { url } = await invite();
    const over = await guess(new URL(url).hash.slice(1));
    expect([over.statusCode, Number(over.headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await signInWith(service, url)).statusCode).toBe(200);
  });

  test.each([[null], [7], ['x'.repeat(10_000)], [{ token: 'x' }], ['ob_link_\r\nSet-Cookie: a=b'], ['ob_link_\u0000']])(
    'is refused if it is %j',
    async (token) => {
      const payload = { token };
      const answer = await service.request({ method: 'POST', url: '/v1/session', headers: SAME_ORIGIN, payload });
      expect([400, 401]).toContain(answer.statusCode);
      expect(answer.headers['set-cookie']).toBeUndefined();
    },
  );

  test('is refused in a body of 10 MB, in a form, and from another site', async () => {
    const post = (payload: string, headers: object) =>
      service.request({ method: 'POST', url: '/v1/session', payload, headers: { ...SAME_ORIGIN, ...headers } });
    const json = { 'content-type': 'application/json' };
    expect((await post(`{"token":"${'x'.repeat(10_000_000)}"}`, json)).statusCode).toBe(413);
    expect((await post('token=x', { 'content-type': 'application/x-www-form-urlencoded' })).statusCode).toBe(415);
    const { url } = await invite();
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      {},
    ]) {
      const answer = await signInWith(service, url, { headers });
      expect([headers, answer.statusCode, answer.json().error.code]).toEqual([headers, 403, 'cross_site_request']);
    }
    const own = { origin: 'http://localhost:3000' };
    expect((await signInWith(service, url, { headers: own })).statusCode).toBe(200);
  });

  test('starts no session over plain HTTP from elsewhere', async () => {
    const { url } = await invite();
    const headers = { ...SAME_ORIGIN, host: 'mail.example.net' };
    expect((await signInWith(service, url, { headers })).statusCode).toBe(400);
  });
});

/** The cookie that a service behind TLS sets. */
const startServiceAt = async (publicUrl: string, url: string): Promise<string> => {
  const secure = await startService({ ...service.deps, publicUrl });
  try {
    const headers = { ...SAME_ORIGIN, host: 'mail.example.net' };
    return String((await signInWith(secure, url, { headers })).headers['set-cookie']);
  } finally {
    await secure.server.close();
  }
};

describe('a session', () => {
  test('has a new value and a new id at each sign-in, whatever the browser had before', async () => {
    const first = await signIn();
    const { url } = await invite();
    const second = await signInWith(service, url, { headers: { ...SAME_ORIGIN, cookie: first.cookie } });
    expect(second.statusCode).toBe(200);
    expect(cookieOf(second)).not.toBe(first.cookie);
    expect(second.json().id).not.toBe(first.sessionId);
    const planted = `outbox_session=ob_session_${'0'.repeat(49)}`;
    expect(await codeOf(ask(planted))).toEqual([401, 'unauthorized']);
  });

  test('ends when its member signs out, and the browser forgets it', async () => {
    const { cookie } = await signIn();
    const answer = await ask(cookie, '/v1/session', { method: 'DELETE' });
    expect([answer.statusCode, String(answer.headers['set-cookie'])]).toEqual([
      204,
      'outbox_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0',
    ]);
    expect(await codeOf(ask(cookie))).toEqual([401, 'unauthorized']);
  });

  test('names the browser that signed in, if it is one', async () => {
    const agents = ['Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0', 'x'.repeat(600)];
    const ids: string[] = [];
    for (const agent of agents) {
      const { url } = await invite();
      const answer = await signInWith(service, url, { headers: { ...SAME_ORIGIN, 'user-agent': agent } });
      ids.push(answer.json().id);
    }
    const { data } = (await service.request({ url: '/v1/sessions', key })).json();
    const found = ids.map((id) => data.find((one: { id: string }) => one.id === id).browser);
    expect(found).toEqual(['Firefox 142 on Linux', null]);
  });

  test('ends within a second when it is revoked, and when its member is removed', async () => {
    const [one, other] = [await signIn(), await signIn()];
    expect((await service.request({ method: 'DELETE', url: `/v1/sessions/${one.sessionId}`, key })).statusCode).toBe(
      204,
    );
    await expect.poll(() => codeOf(ask(one.cookie)), { timeout: 5_000 }).toEqual([401, 'unauthorized']);
    await service.request({ method: 'DELETE', url: `/v1/members/${other.memberId}`, key });
    await expect.poll(() => codeOf(ask(other.cookie)), { timeout: 5_000 }).toEqual([401, 'unauthorized']);
  });

  test('ends after 12 hours without a request, and after 7 days of use', async () => {
    const [used, left] = [await signIn(), await signIn()];
    for (let hours = 0; hours < 7 * 24 - 1; hours += 11) {
      expect((await ask(used.cookie)).statusCode).toBe(200);
      shiftMs += 11 * HOUR_MS;
    }
    expect(await codeOf(ask(left.cookie))).toEqual([401, 'unauthorized']);
    shiftMs += HOUR_MS;
    expect(await codeOf(ask(used.cookie))).toEqual([401, 'unauthorized']);
  });

  test('is not a bearer token, and a key in a cookie is not a session', async () => {
    const { cookie } = await signIn();
    const value = cookie.split('=')[1] ?? '';
    expect((await service.request({ url: '/v1/session', key: value })).statusCode).toBe(401);
    expect((await ask(`outbox_session=${key}`)).statusCode).toBe(401);
    expect((await ask(`${cookie}; ${cookie}`)).statusCode).toBe(401); // another site has set a second cookie
  });

  test('is refused together with a key', async () => {
    const { cookie } = await signIn();
    const headers = { authorization: `Bearer ${key}` };
    expect(await codeOf(ask(cookie, '/v1/session', { headers }))).toEqual([400, 'invalid_request']);
  });

  test('changes nothing for a page of another origin', async () => {
    const { cookie, memberId } = await signIn();
    const payload = { role: 'auditor' };
    for (const site of ['cross-site', 'same-site', 'none']) {
      const more = { method: 'PATCH', payload, headers: { 'sec-fetch-site': site } };
      expect(await codeOf(ask(cookie, `/v1/members/${memberId}`, more))).toEqual([403, 'cross_site_request']);
    }
    const url = `/v1/members/${memberId}`;
    for (const headers of [{ cookie }, { cookie, origin: 'https://evil.example' }, { cookie, origin: 'null' }])
      expect((await service.request({ method: 'PATCH', url, payload, headers })).statusCode).toBe(403);
    const form = { method: 'PATCH', payload: '{}', headers: { 'content-type': 'text/plain' } };
    expect(await codeOf(ask(cookie, url, form))).toEqual([415, 'unsupported_media_type']);
    expect((await service.request({ url: `/v1/members/${memberId}`, key })).json().role).toBe('owner');
  });

  test('asks for an environment in the query of any request', async () => {
    const { cookie } = await signIn();
    expect((await ask(cookie)).json().environment).toBe('live');
    expect((await ask(cookie, '/v1/session?environment=test')).json().environment).toBe('test');
    expect((await ask(cookie, '/v1/organization?environment=test')).statusCode).toBe(200);
    expect(await codeOf(ask(cookie, '/v1/members?environment=test'))).toEqual([403, 'environment_not_allowed']);
    for (const environment of ['prod', '', 'test&environment=live', '%00'])
      expect(await codeOf(ask(cookie, `/v1/session?environment=${environment}`))).toEqual([400, 'invalid_request']);
    expect((await service.request({ url: '/v1/session?environment=test', key })).statusCode).toBe(400);
  });
});
