import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { codeOf, openPeople, type People } from '../../support/passkey-people.ts';
import { type Service, startService } from '../../support/service.ts';
import { cookieOf, nextAddress, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';
import { GUARDED } from '../../support/walk-routes.ts';

const MINUTE_MS = 60_000;

let service: Service;
let people: People;
let shiftMs = 0;
let stoppedMs: number | null = null;
const real = createSystem();

beforeAll(async () => {
  service = await startService({
    publicUrl: 'http://127.0.0.1:3000',
    context: { system: { ...real, now: () => new Date((stoppedMs ?? real.now().getTime()) + shiftMs) } },
  });
  people = await openPeople(service);
});
afterAll(() => service.close());

type Person = Awaited<ReturnType<People['withPasskey']>>;

const ask = (cookie: string, method: string, url: string, payload?: object) =>
  service.request({
    method: method as 'POST',
    url,
    ...(payload !== undefined && { payload }),
    remoteAddress: nextAddress(),
    headers: { cookie, ...SAME_ORIGIN },
  });

const isPresent = async (cookie: string): Promise<boolean> => {
  const { statusCode, body } = await ask(cookie, 'DELETE', '/v1/passkeys/psk_aaaaaaaaaaaaaaaaaaaaaaaaaa');
  expect([403, 404]).toContain(statusCode);
  return JSON.parse(body).error.code !== 'presence_required';
};

const leave = (): void => {
  shiftMs += 10 * MINUTE_MS;
};

/** A new link of a member, as the operator would print it. @returns its token. */
const newLink = async (memberId: string): Promise<string> => {
  const url = `/v1/members/${memberId}/links`;
  const made = await service.request({ method: 'POST', url, key: people.key, payload: {} });
  expect(made.statusCode, made.body).toBe(201);
  return new URL(made.json().url).hash.slice(1);
};

/** Body and cookies of a proof by passkey. */
const answerOf = async ({ authenticator }: Person, more: object = {}) => {
  const { challenge, browser } = await people.challenge();
  return { body: { passkey: authenticator.answer({ challenge, ...more }) }, browser };
};

const proveWith = ({ cookie }: { readonly cookie: string }, { body, browser }: { body: object; browser: string }) =>
  ask([cookie, browser].filter((one) => one !== '').join('; '), 'POST', '/v1/session/presence', body);

describe('an action that requires presence', () => {
  const marked = GUARDED.filter(({ rule }) => rule.presence === 'always' || rule.presence === 'unlessFirst');

  test('gives or takes the power to act, cannot be undone, or exports all proofs', () => {
    expect(marked.map(({ name }) => name).sort()).toEqual([
      'DELETE /v1/members/:id',
      'DELETE /v1/members/:id/passkeys/:passkey',
      'DELETE /v1/passkeys/:passkey',
      'GET /v1/audit/export',
      'PATCH /v1/members/:id',
      'POST /v1/audit/auditors',
      'POST /v1/erasures',
      'POST /v1/members',
      'POST /v1/members/:id/links',
      'POST /v1/passkeys',
      'PUT /v1/organization/contents',
    ]);
  });

  const BODIES: Readonly<Record<string, object>> = {
    ...{ 'POST /v1/members': { email: 'late@example.net', role: 'owner' }, 'PATCH /v1/members/:id': { role: 'owner' } },
    'POST /v1/passkeys': { credential_id: 'AA', client_data: 'AA', attestation_object: 'AA' },
    'POST /v1/audit/auditors': { name: 'Late', expires_at: '2999-01-01T00:00:00Z' },
    ...{ 'POST /v1/erasures': { address: 'late@example.net' }, 'PUT /v1/organization/contents': { allowed_to: [] } },
  };

  test('is refused ten minutes after signing in, and succeeds after a proof by passkey', async () => {
    const person = await people.withPasskey();
    expect(await isPresent(person.cookie)).toBe(true);
    leave();
    for (const { name, method, url } of marked) {
      const path = url.replace(':id', person.memberId).replace(':passkey', person.id);
      const answer = await ask(person.cookie, method, path, method === 'GET' ? undefined : (BODIES[name] ?? {}));
      expect([name, ...codeOf(answer)]).toEqual([name, 403, 'presence_required']);
    }
    // A challenge is not listed among refused requests.
    const { data } = (await service.request({ url: '/v1/requests?code=presence_required', key: people.key })).json();
    expect(data).toEqual([]);
    const proven = await proveWith(person, await answerOf(person));
    expect([proven.statusCode, proven.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(proven.json().member.id).toBe(person.memberId);
    const until = Date.parse(proven.json().present_until) - real.now().getTime() - shiftMs;
    expect([until > 9 * MINUTE_MS, until <= 10 * MINUTE_MS]).toEqual([true, true]);
    expect((await people.list(person)).json().data).toHaveLength(1);
    expect((await people.remove(person, person.id)).statusCode).toBe(204);
    leave();
    expect(await isPresent(person.cookie)).toBe(false);
  });

  test('requires none of an API key', async () => {
    leave();
    const payload = { email: 'by-key@example.net', role: 'analyst' };
    const answer = await service.request({ method: 'POST', url: '/v1/members', key: people.key, payload });
    expect(answer.statusCode).toBe(201);
  });

  test('concerns API keys only if they have admin', async () => {
    const { cookie } = await people.join();
    const key = { name: 'A key', domain_id: people.domainId };
    const [admin, sending] = await Promise.all(
      ['admin', 'send'].map(async (permission) => {
        const made = await ask(cookie, 'POST', '/v1/api-keys', { ...key, permissions: [permission] });
        expect(made.statusCode, made.body).toBe(201);
        return made.json().id as string;
      }),
    );
    leave();
    const needed = [
      ['POST', '/v1/api-keys', { ...key, permissions: ['send', 'admin'] }],
      ['PATCH', `/v1/api-keys/${sending}`, { permissions: ['admin'] }],
      ['PATCH', `/v1/api-keys/${admin}`, { name: 'Another' }],
      ['POST', `/v1/api-keys/${admin}/rotate`, {}],
      ['POST', `/v1/api-keys/${admin}/revoke`, {}],
      ['DELETE', `/v1/api-keys/${admin}`, undefined],
    ] as const;
    for (const [method, url, body] of needed)
      expect([method, url, ...codeOf(await ask(cookie, method, url, body))]).toEqual([
        method,
        url,
        403,
        'presence_required',
      ]);
    expect((await ask(cookie, 'POST', '/v1/api-keys', { ...key, permissions: ['send'] })).statusCode).toBe(201);
    expect((await ask(cookie, 'POST', `/v1/api-keys/${sending}/rotate`, {})).statusCode).toBe(200);
    expect((await ask(cookie, 'POST', `/v1/api-keys/${sending}/revoke`, {})).statusCode).toBe(200);
    const stranger = await people.join('owner', 1);
    leave();
    // A stranger does not learn whether another organization's key has `admin`.
    expect(codeOf(await ask(stranger.cookie, 'POST', `/v1/api-keys/${admin}/rotate`, {}))).toEqual([
      403,
      'other_organization',
    ]);
  });
});

describe('a proof of presence', () => {
  test('by passkey is accepted once, even of eight at the same moment, and starts no session', async () => {
    const person = await people.withPasskey();
    leave();
    const answer = await answerOf(person);
    const all = await Promise.all(Array.from({ length: 8 }, () => proveWith(person, answer)));
    expect(all.map(({ statusCode }) => statusCode).sort()).toEqual([200, ...Array(7).fill(401)]);
    expect(codeOf(await proveWith(person, answer))).toEqual([401, 'passkey_invalid']);
    expect(codeOf(await people.post('/v1/session', answer.body, [answer.browser]))).toEqual([401, 'passkey_invalid']);
    const used = await answerOf(person);
    expect((await people.post('/v1/session', used.body, [used.browser])).statusCode).toBe(200);
    leave();
    expect(codeOf(await proveWith(person, used))).toEqual([401, 'passkey_invalid']);
    expect(await isPresent(person.cookie)).toBe(false);
  });

  test('by link is accepted once, from members without a passkey, and uses up the link', async () => {
    const { cookie, memberId } = await people.join();
    leave();
    const token = await newLink(memberId);
    expect(await isPresent(cookie)).toBe(false);
    const all = await Promise.all(
      Array.from({ length: 4 }, () => proveWith({ cookie }, { body: { token }, browser: '' })),
    );
    expect(all.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401, 401, 401]);
    expect(await isPresent(cookie)).toBe(true);
    expect((await signInWith(service, `http://localhost/#${token}`)).statusCode).toBe(401);
  });

  test('of a colleague, or of a member of another organization, proves nothing and is not used up', async () => {
    const person = await people.withPasskey();
    const others = [await people.withPasskey(), await people.withPasskey('owner', 1)];
    leave();
    for (const other of others) {
      const answer = await answerOf(other);
      expect(codeOf(await proveWith(person, answer))).toEqual([401, 'passkey_invalid']);
      expect((await people.post('/v1/session', answer.body, [answer.browser])).statusCode).toBe(200);
    }
    const token = await newLink(others[0]?.memberId ?? '');
    expect(codeOf(await proveWith(person, { body: { token }, browser: '' }))).toEqual([401, 'sign_in_link_invalid']);
    expect((await signInWith(service, `http://localhost/#${token}`)).statusCode).toBe(200);
    expect(await isPresent(person.cookie)).toBe(false);
  });

  test('by passkey is accepted for five minutes after it was asked for, to the millisecond', async () => {
    const person = await people.withPasskey();
    stoppedMs = real.now().getTime();
    onTestFinished(() => {
      stoppedMs = null;
    });
    const [timely, late] = [await answerOf(person, { counter: 5 }), await answerOf(person, { counter: 6 })];
    shiftMs += 5 * MINUTE_MS - 1;
    expect((await proveWith(person, timely)).statusCode).toBe(200);
    shiftMs += 1;
    expect(codeOf(await proveWith(person, late))).toEqual([401, 'passkey_invalid']);
  });

  test('belongs to one session, and not to another of the member', async () => {
    const person = await people.withPasskey();
    const elsewhere = cookieOf(await people.enter(person));
    leave();
    expect((await proveWith(person, await answerOf(person))).statusCode).toBe(200);
    expect([await isPresent(person.cookie), await isPresent(elsewhere)]).toEqual([true, false]);
  });

  test('is not accepted for a session that has ended', async () => {
    const person = await people.withPasskey();
    const answer = await answerOf(person);
    expect((await ask(person.cookie, 'DELETE', '/v1/session')).statusCode).toBe(204);
    expect(codeOf(await proveWith(person, answer))).toEqual([401, 'unauthorized']);
  });

  test('is refused if the browser, the origin or the count differs', async () => {
    const person = await people.withPasskey();
    leave();
    const { body } = await answerOf(person);
    const { browser } = await people.challenge();
    expect(codeOf(await proveWith(person, { body, browser }))).toEqual([401, 'passkey_invalid']);
    for (const more of [{ origin: 'https://evil.example' }, { isVerified: false }, { type: 'webauthn.create' }])
      expect(codeOf(await proveWith(person, await answerOf(person, more)))).toEqual([401, 'passkey_invalid']);
    expect((await proveWith(person, await answerOf(person, { counter: 3 }))).statusCode).toBe(200);
    leave();
    expect(codeOf(await proveWith(person, await answerOf(person, { counter: 3 })))).toEqual([401, 'passkey_invalid']);
    expect(await isPresent(person.cookie)).toBe(false);
  });

  test.each([
    [{}],
    [{ token: null }],
    [{ token: 'x', passkey: {} }],
    [{ passkey: 'x' }],
    [[]],
    [{ token: 'x'.repeat(10_000) }],
  ])('is refused if it is %j', async (body) => {
    const { cookie } = await people.join();
    expect(codeOf(await proveWith({ cookie }, { body, browser: '' }))).toEqual([400, 'invalid_request']);
  });

  test('is refused in 10 MB, with NUL in it, from another site, and from an API key', async () => {
    const { cookie } = await people.join();
    const huge = { token: 'x'.repeat(10_000_000) };
    expect((await proveWith({ cookie }, { body: huge, browser: '' })).statusCode).toBe(413);
    const nul = { token: 'ob_link_\u0000\r\nSet-Cookie: a=b' };
    expect(codeOf(await proveWith({ cookie }, { body: nul, browser: '' }))).toEqual([401, 'sign_in_link_invalid']);
    const post = { method: 'POST', url: '/v1/session/presence', payload: { token: 'x' } } as const;
    const crossSite = await service.request({ ...post, headers: { cookie, 'sec-fetch-site': 'cross-site' } });
    expect(codeOf(crossSite)).toEqual([403, 'cross_site_request']);
    expect(codeOf(await service.request({ ...post, key: people.key }))).toEqual([403, 'permission_missing']);
  });
});
