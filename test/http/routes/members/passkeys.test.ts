import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthenticator } from '../../support/authenticator.ts';
import { codeOf, openPeople, type People } from '../../support/passkey-people.ts';
import { type Service, startService } from '../../support/service.ts';
import { cookieOf, SAME_ORIGIN } from '../../support/sign-in.ts';

let service: Service;
let people: People;

beforeAll(async () => {
  service = await startService({ publicUrl: 'http://127.0.0.1:3000' });
  people = await openPeople(service);
});
afterAll(() => service.close());

describe('a passkey', () => {
  test.each(['owner', 'analyst', 'auditor'])('is added by a member who is %s, and signs them in', async (role) => {
    const person = await people.withPasskey(role);
    expect((await people.list(person)).json().data).toMatchObject([
      { id: person.id, object: 'passkey', synced: false },
    ]);
    const answer = await people.enter(person);
    expect([answer.statusCode, answer.json().member.id]).toEqual([200, person.memberId]);
    expect(String(answer.headers['set-cookie'])).toMatch(
      /^outbox_session=ob_session_\w{49}; HttpOnly; SameSite=Strict/,
    );
    const asked = await service.request({ url: '/v1/session', headers: { cookie: cookieOf(answer) } });
    expect(asked.json().member.id).toBe(person.memberId);
  });

  test('no longer signs in once it, or its member, was removed', async () => {
    const [one, other] = [await people.withPasskey(), await people.withPasskey()];
    expect((await people.remove(one, one.id)).statusCode).toBe(204);
    expect(codeOf(await people.enter(one))).toEqual([401, 'passkey_invalid']);
    await service.request({ method: 'DELETE', url: `/v1/members/${other.memberId}`, key: people.key });
    expect(codeOf(await people.enter(other))).toEqual([401, 'passkey_invalid']);
  });

  test('of another member is neither shown nor removed', async () => {
    const [own, colleague, stranger] = [
      await people.withPasskey(),
      await people.withPasskey(),
      await people.withPasskey('owner', 1),
    ];
    for (const { id } of [colleague, stranger, { id: 'psk_aaaaaaaaaaaaaaaaaaaaaaaaaa' }, { id: '..%2f%00' }])
      expect(codeOf(await people.remove(own, id))).toEqual([404, 'not_found']);
    expect((await people.list(own)).json().data).toHaveLength(1);
    expect((await people.enter(colleague)).statusCode).toBe(200);
  });

  test('is listed and removed only by an owner', async () => {
    const [owner, person, stranger] = [await people.join(), await people.withPasskey(), await people.join('owner', 1)];
    const path = `/v1/members/${person.memberId}/passkeys`;
    const ask = ({ cookie }: typeof owner, url: string, method: 'GET' | 'DELETE' = 'GET') =>
      service.request({ method, url, headers: { cookie, ...SAME_ORIGIN } });
    for (const role of ['developer', 'analyst', 'auditor']) {
      const other = await people.join(role);
      expect(codeOf(await ask(other, `${path}/${person.id}`, 'DELETE'))).toEqual([403, 'permission_missing']);
      if (role !== 'auditor') expect(codeOf(await ask(other, path))).toEqual([403, 'permission_missing']);
    }
    expect(codeOf(await ask(stranger, path))).toEqual([404, 'not_found']);
    expect(codeOf(await ask(stranger, `${path}/${person.id}`, 'DELETE'))).toEqual([404, 'not_found']);
    expect(codeOf(await ask(owner, '/v1/members/mbr_aaaaaaaaaaaaaaaaaaaaaaaaaa/passkeys'))).toEqual([404, 'not_found']);
    for (const id of ['psk_aaaaaaaaaaaaaaaaaaaaaaaaaa', '..%2f%00', 'x'.repeat(5_000)])
      expect((await ask(owner, `${path}/${id}`, 'DELETE')).statusCode).toBeGreaterThanOrEqual(404);
    expect((await ask(owner, path)).json().data).toMatchObject([{ id: person.id }]);
    expect((await ask(owner, `/v1/members/${person.memberId}`)).json().passkeys).toBe(1);
    expect((await ask(owner, `${path}/${person.id}`, 'DELETE')).statusCode).toBe(204);
    expect(codeOf(await people.enter(person))).toEqual([401, 'passkey_invalid']);
    expect((await ask(owner, `/v1/members/${person.memberId}`)).json().passkeys).toBe(0);
    expect(codeOf(await ask(owner, `${path}/${person.id}`, 'DELETE'))).toEqual([404, 'not_found']);
  });

  test('is not available to API keys', async () => {
    const key = people.key;
    const answer = await service.request({ url: '/v1/passkeys', key });
    expect(codeOf(answer)).toEqual([403, 'permission_missing']);
  });

  test('is added once, and ten of them at most', async () => {
    const person = await people.join();
    const { challenge: asked, browser } = await people.challenge();
    const body = person.authenticator.register({ challenge: asked });
    const cookies = [person.cookie, browser];
    expect((await people.post('/v1/passkeys', body, cookies)).statusCode).toBe(201);
    expect(codeOf(await people.post('/v1/passkeys', body, cookies))).toEqual([409, 'resource_conflict']);
    const another = () => people.add({ ...person, authenticator: createAuthenticator(person.memberId) });
    for (let count = 1; count < 10; count += 1) expect((await another()).statusCode).toBe(201);
    expect(codeOf(await another())).toEqual([409, 'too_many_passkeys']);
  });

  test.each([
    ['of another origin', { origin: 'http://localhost:3001' }],
    ['of another host', { rpId: 'evil.example' }],
    ['without verification of the person', { isVerified: false }],
    ['that was made to sign in', { type: 'webauthn.get' }],
    ['whose certificates would have to be looked up', { format: 'packed' }],
    ['under the id of another', { reportedId: Buffer.alloc(16, 1).toString('base64url') }],
    ['for no challenge', { challenge: 'A'.repeat(72) }],
    ['for an invalid challenge', { challenge: '' }],
  ])('is not added %s', async (_, more) => {
    const person = await people.join();
    expect(codeOf(await people.add(person, more))).toEqual([400, 'invalid_request']);
    expect((await people.list(person)).json().data).toEqual([]);
  });
});

test.each(['http://192.0.2.7:3000', 'https://192.0.2.7', 'http://mail.example.net', 'https://[2001:db8::1]'])(
  'there are no passkeys at %s',
  async (publicUrl) => {
    const there = await startService({ ...service.deps, publicUrl });
    const answer = await there.request({
      method: 'POST',
      url: '/v1/session/challenges',
      headers: SAME_ORIGIN,
      payload: {},
    });
    await there.server.close();
    expect(codeOf(answer)).toEqual([400, 'invalid_request']);
  },
);
