import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { codeOf, openPeople, type People } from '../../support/passkey-people.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let shiftMs = 0;
let people: People;
const real = createSystem();

beforeAll(async () => {
  service = await startService({
    publicUrl: 'http://127.0.0.1:3000',
    context: { system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } },
  });
  people = await openPeople(service);
});
afterAll(() => service.close());

describe('an answer of a passkey', () => {
  let person: Awaited<ReturnType<People['withPasskey']>>;
  beforeAll(async () => {
    person = await people.withPasskey();
  });

  test.each([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of another port', { origin: 'http://localhost:3001' }],
    ['for another host', { rpId: 'evil.example' }],
    ['without verification of the person', { isVerified: false }],
    ['that was made to add it', { type: 'webauthn.create' }],
    ['for no challenge', { challenge: 'A'.repeat(72) }],
  ])('is refused %s', async (_, more) => {
    expect(codeOf(await people.enter(person, more))).toEqual([401, 'passkey_invalid']);
  });

  test('is accepted once, even of eight at the same moment', async () => {
    const { challenge: asked, browser } = await people.challenge();
    const body = { passkey: person.authenticator.answer({ challenge: asked }) };
    const answers = await Promise.all(Array.from({ length: 8 }, () => people.post('/v1/session', body, [browser])));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, ...Array(7).fill(401)]);
    expect(codeOf(await people.post('/v1/session', body, [browser]))).toEqual([401, 'passkey_invalid']);
    const again = { passkey: person.authenticator.answer({ challenge: asked }) };
    expect(codeOf(await people.post('/v1/session', again, [browser]))).toEqual([401, 'passkey_invalid']);
  });

  test('is accepted only from the browser that requested it', async () => {
    const [mine, theirs] = [await people.challenge(), await people.challenge()];
    const body = () => ({ passkey: person.authenticator.answer({ challenge: mine.challenge }) });
    for (const cookies of [[], [theirs.browser], [mine.browser, theirs.browser], ['outbox_browser=']])
      expect(codeOf(await people.post('/v1/session', body(), cookies))).toEqual([401, 'passkey_invalid']);
    expect((await people.post('/v1/session', body(), [mine.browser])).statusCode).toBe(200);
  });

  test('is refused five minutes after the challenge', async () => {
    const { challenge: asked, browser } = await people.challenge();
    shiftMs += 301_000;
    const body = { passkey: person.authenticator.answer({ challenge: asked }) };
    expect(codeOf(await people.post('/v1/session', body, [browser]))).toEqual([401, 'passkey_invalid']);
  });

  test('does not sign in another member, of this organization or another', async () => {
    const [colleague, stranger] = [await people.withPasskey(), await people.withPasskey('owner', 1)];
    for (const { memberId } of [colleague, stranger, { memberId: 'mbr_aaaaaaaaaaaaaaaaaaaaaaaaaa' }]) {
      const { challenge: asked, browser } = await people.challenge();
      const forged = {
        ...person.authenticator.answer({ challenge: asked }),
        user_handle: Buffer.from(memberId).toString('base64url'),
      };
      expect(codeOf(await people.post('/v1/session', { passkey: forged }, [browser]))).toEqual([
        401,
        'passkey_invalid',
      ]);
    }
  });

  test('cannot be forged with the name of another member’s passkey', async () => {
    const [victim, thief] = [await people.withPasskey(), await people.withPasskey()];
    const { challenge: asked, browser } = await people.challenge();
    const { credential_id, user_handle } = victim.authenticator.answer({ challenge: asked });
    const forged = { ...thief.authenticator.answer({ challenge: asked }), credential_id, user_handle };
    expect(codeOf(await people.post('/v1/session', { passkey: forged }, [browser]))).toEqual([401, 'passkey_invalid']);
  });

  test('of an authenticator that counts is refused if the count is not higher', async () => {
    const counting = await people.join();
    expect((await people.add(counting, { counter: 4 })).statusCode).toBe(201);
    expect((await people.enter(counting, { counter: 5 })).statusCode).toBe(200);
    for (const counter of [5, 4, 0])
      expect(codeOf(await people.enter(counting, { counter }))).toEqual([401, 'passkey_invalid']);
    expect((await people.enter(counting, { counter: 6 })).statusCode).toBe(200);
  });

  test.each([
    [null],
    [{}],
    ['x'],
    [{ credential_id: '\r\n', client_data: '\u0000', authenticator_data: '', signature: 7, user_handle: [] }],
    [{ credential_id: 'x'.repeat(9_000), client_data: 'x', authenticator_data: 'x', signature: 'x', user_handle: 'x' }],
  ])('is refused if it is %j', async (passkey) => {
    expect(codeOf(await people.post('/v1/session', { passkey }))).toEqual([400, 'invalid_request']);
  });

  test.each(['client_data', 'authenticator_data', 'signature'])('is refused if its %s is empty', async (part) => {
    const { challenge: asked, browser } = await people.challenge();
    const whole = person.authenticator.answer({ challenge: asked });
    for (const wrong of ['AA', '_'.repeat(4_000)]) {
      const answer = await people.post('/v1/session', { passkey: { ...whole, [part]: wrong } }, [browser]);
      expect(codeOf(answer)).toEqual([401, 'passkey_invalid']);
    }
  });

  test('is refused with a link, in 10 MB, and from another site', async () => {
    const { challenge: asked, browser } = await people.challenge();
    const whole = person.authenticator.answer({ challenge: asked });
    expect(codeOf(await people.post('/v1/session', { passkey: whole, token: 'x' }, [browser]))[0]).toBe(400);
    const huge = { passkey: { ...whole, signature: 'x'.repeat(10_000_000) } };
    expect((await people.post('/v1/session', huge, [browser])).statusCode).toBe(413);
    const big = { ...person.authenticator.register({ challenge: asked }), attestation_object: 'x'.repeat(10_000_000) };
    expect((await people.post('/v1/passkeys', big, [person.cookie, browser])).statusCode).toBe(413);
    for (const url of ['/v1/session', '/v1/session/challenges']) {
      const payload = url === '/v1/session' ? { passkey: whole } : {};
      const headers = { 'sec-fetch-site': 'cross-site', cookie: browser };
      const answer = await service.request({ method: 'POST', url, payload, headers });
      expect(codeOf(answer)).toEqual([403, 'cross_site_request']);
    }
  });
});
