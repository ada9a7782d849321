import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { createKeyCacheProjection } from '../../../../src/domain/api-key/key-cache-projection.ts';
import { LOG_START } from '../../../../src/domain/kernel/event-store.ts';
import { createSecretIndex } from '../../../../src/http/auth/key-cache-queries.ts';
import { codeOf, openPeople, type People } from '../../support/passkey-people.ts';
import { type Service, startService } from '../../support/service.ts';
import { cookieOf, SAME_ORIGIN, signInWith } from '../../support/sign-in.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let service: Service;
let people: People;
let shiftMs = 0;
const real = createSystem();

beforeAll(async () => {
  service = await startService({
    publicUrl: 'http://127.0.0.1:3000',
    context: { system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } },
  });
  people = await openPeople(service);
});
afterAll(() => service.close());

const ask = (cookie: string, more: object = {}) =>
  service.request({ url: '/v1/session', headers: { cookie, ...SAME_ORIGIN, ...more } });
const isOpen = async (cookie: string): Promise<boolean> => (await ask(cookie)).statusCode === 200;

const limit = async (payload: object): Promise<void> => {
  const answer = await service.request({ method: 'PATCH', url: '/v1/organization', key: people.key, payload });
  expect(answer.statusCode, answer.body).toBe(200);
};

const newLink = async (): Promise<string> => {
  const { memberId } = await people.join();
  const url = `/v1/members/${memberId}/links`;
  return (await service.request({ method: 'POST', url, key: people.key, payload: {} })).json().url;
};

describe('an organization', () => {
  test('shortens how long sessions may idle, including open ones, but not those of another organization', async () => {
    const [resting, used, stranger] = [await people.join(), await people.join(), await people.join('owner', 1)];
    await limit({ session_idle_minutes: 30 });
    for (let minutes = 0; minutes < 60; minutes += 20) {
      shiftMs += 20 * MINUTE_MS;
      expect(await isOpen(used.cookie)).toBe(true);
    }
    expect([await isOpen(resting.cookie), await isOpen(stranger.cookie)]).toEqual([false, true]);
    await limit({ session_idle_minutes: 720 });
  });

  test('shortens how long sessions last, including open ones, and says when they end', async () => {
    const { cookie } = await people.join();
    await limit({ session_hours: 2 });
    const { data } = (await service.request({ url: '/v1/sessions', headers: { cookie, ...SAME_ORIGIN } })).json();
    const current = data.find((one: { readonly is_current: boolean }) => one.is_current);
    expect(Date.parse(current.expires_at) - Date.parse(current.started_at)).toBe(2 * HOUR_MS);
    shiftMs += 1.9 * HOUR_MS;
    expect(await isOpen(cookie)).toBe(true);
    shiftMs += 0.2 * HOUR_MS;
    expect(codeOf(await ask(cookie))).toEqual([401, 'unauthorized']);
    await limit({ session_hours: 168 });
  });
});

test('automatic requests of a page do not keep a session open', async () => {
  const { cookie } = await people.join();
  const followed = await people.join();
  for (let hours = 0; hours < 12; hours += 4) {
    expect((await ask(cookie, { 'x-unattended': '1' })).statusCode).toBe(200);
    const headers = { cookie: followed.cookie, ...SAME_ORIGIN };
    expect((await service.request({ url: '/v1/events?limit=1', headers })).statusCode).not.toBe(401);
    shiftMs += 4 * HOUR_MS;
  }
  expect([await isOpen(cookie), await isOpen(followed.cookie)]).toEqual([false, false]);
});

test('expired sessions are forgotten, together with their values', async () => {
  const { cookie } = await people.join();
  shiftMs += 8 * 24 * HOUR_MS;
  const last = await people.join();
  const { events } = await service.deps.context.store.readAll({ from: LOG_START, filter: {}, limit: 10_000 });
  const projection = createKeyCacheProjection();
  const secrets = createSecretIndex(projection);
  for (const event of events) secrets.apply(event);
  expect(events.filter(({ type }) => type === 'SessionStarted').length).toBeGreaterThan(5);
  expect(projection.sessions.size).toBe(1);
  expect([await isOpen(cookie), await isOpen(last.cookie)]).toEqual([false, true]);
});

describe('a browser that lost the response', () => {
  const nonce = () => randomBytes(32).toString('base64url');
  const spend = (url: string, more: object) =>
    signInWith(service, url, { payload: { token: new URL(url).hash.slice(1), ...more } });

  test('gets the same session again, even eight times at once, and no other browser does', async () => {
    const url = await newLink();
    const own = { nonce: nonce() };
    const answers = await Promise.all(Array.from({ length: 8 }, () => spend(url, own)));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(8).fill(200));
    expect(new Set(answers.map(cookieOf)).size).toBe(1);
    expect(new Set(answers.map((answer) => answer.json().id)).size).toBe(1);
    for (const other of [{}, { nonce: nonce() }])
      expect(codeOf(await spend(url, other))).toEqual([401, 'sign_in_link_invalid']);
    shiftMs += 3 * MINUTE_MS;
    expect(codeOf(await spend(url, own))).toEqual([401, 'sign_in_link_invalid']);
  });

  test('gets it again with a passkey that counts', async () => {
    const person = await people.join();
    expect((await people.add(person, { counter: 4 })).statusCode).toBe(201);
    const { challenge, browser } = await people.challenge();
    const body = { passkey: person.authenticator.answer({ challenge, counter: 5 }), nonce: nonce() };
    const [first, second] = [
      await people.post('/v1/session', body, [browser]),
      await people.post('/v1/session', body, [browser]),
    ];
    expect([second.statusCode, cookieOf(second)]).toEqual([200, cookieOf(first)]);
  });

  test('does not get a session again that was ended', async () => {
    const url = await newLink();
    const own = { nonce: nonce() };
    const cookie = cookieOf(await spend(url, own));
    await service.request({ method: 'DELETE', url: '/v1/session', headers: { cookie, ...SAME_ORIGIN } });
    expect(codeOf(await spend(url, own))).toEqual([401, 'sign_in_link_invalid']);
  });

  test.each([[''], ['x'], ['A'.repeat(42)], ['A'.repeat(44)], [`${'A'.repeat(42)}\n`], ['\u0000'.repeat(43)], [7]])(
    'is refused if its nonce is %j',
    async (wrong) => {
      const url = await newLink();
      expect(codeOf(await spend(url, { nonce: wrong }))).toEqual([400, 'invalid_request']);
    },
  );
});
