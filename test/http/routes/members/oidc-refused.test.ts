import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { answerOf, begin, codeOf, INVALID, type OidcService, openOidc, post } from '../../support/oidc-sign-in.ts';
import { startService } from '../../support/service.ts';
import { SAME_ORIGIN } from '../../support/sign-in.ts';

let opened: OidcService;
beforeAll(async () => {
  opened = await openOidc();
});
afterAll(() => opened.close());

describe('a sign-in at an identity provider is refused if', () => {
  /** A sign-in that would succeed. */
  const ready = async () => {
    const { email } = await opened.join();
    opened.provider.person = { email, email_verified: true };
    const begun = await begin(opened.service);
    return { ...begun, answer: answerOf(await opened.provider.signIn(begun.url)) };
  };

  test('the state is of another transaction, or made up', async () => {
    const { cookie, answer } = await ready();
    const other = await ready();
    expect(codeOf(await opened.end({ ...answer, state: other.answer.state }, cookie))).toEqual(INVALID);
    expect(codeOf(await opened.end({ ...answer, state: 'x' }, cookie))).toEqual(INVALID);
    expect((await opened.end(answer, cookie)).statusCode).toBe(200);
  });

  test('it began in another browser', async () => {
    const { answer } = await ready();
    const other = await ready();
    expect(codeOf(await opened.end(answer, ''))).toEqual(INVALID);
    expect(codeOf(await opened.end(answer, other.cookie))).toEqual(INVALID);
    expect(codeOf(await opened.end(answer, `${other.cookie}; ${other.cookie}`))).toEqual(INVALID);
    expect(codeOf(await opened.end(answer, `outbox_oidc=${'A'.repeat(94)}`))).toEqual(INVALID);
  });

  test('the code is of another transaction', async () => {
    const { cookie, answer } = await ready();
    const other = await ready();
    expect(codeOf(await opened.end({ ...answer, code: other.answer.code }, cookie))).toEqual(INVALID);
  });

  test('the nonce was replaced on the way', async () => {
    const { email } = await opened.join();
    opened.provider.person = { email, email_verified: true };
    const { url, cookie } = await begin(opened.service);
    const changed = new URL(url);
    changed.searchParams.set('nonce', 'of another sign-in');
    expect(codeOf(await opened.end(answerOf(await opened.provider.signIn(changed.href)), cookie))).toEqual(INVALID);
  });

  test('another issuer answers', async () => {
    const { cookie, answer } = await ready();
    expect(codeOf(await opened.end({ ...answer, issuer: 'https://evil.example' }, cookie))).toEqual(INVALID);
  });

  test('it was used before, also by two at the same moment', async () => {
    const { cookie, answer } = await ready();
    const answers = await Promise.all([opened.end(answer, cookie), opened.end(answer, cookie)]);
    expect(answers.filter(({ statusCode }) => statusCode === 200).length).toBeLessThanOrEqual(1);
    expect(codeOf(await opened.end(answer, cookie))).toEqual(INVALID);
  });

  test('it took longer than ten minutes', async () => {
    const { cookie, answer } = await ready();
    opened.shift(601_000);
    expect(codeOf(await opened.end(answer, cookie))).toEqual(INVALID);
  });

  test('it took ten minutes, and not a millisecond less', async () => {
    await opened.withStoppedClock(async () => {
      const [timely, late] = [await ready(), await ready()];
      opened.shift(599_999);
      expect((await opened.end(timely.answer, timely.cookie)).statusCode).toBe(200);
      opened.shift(1);
      expect(codeOf(await opened.end(late.answer, late.cookie))).toEqual(INVALID);
    });
  });

  test.each([
    [{ code: 'x' }],
    [{ code: 'x', state: '' }],
    [{ code: 7, state: 'x' }],
    [{ code: 'x'.repeat(10_000), state: 'x' }],
    [{ code: 'x', state: 'x', return_to: 'https://evil.example' }],
    [{ code: 'x', state: 'x', issuer: ['x'] }],
    ['x'],
    [null],
  ])('it is not a valid answer (%#)', async (oidc) => {
    expect(codeOf(await post(opened.service, '/v1/session', { oidc }))).toEqual([400, 'invalid_request']);
  });

  test.each([['x\r\nSet-Cookie: a=b'], ['x\u0000'], ['../../x'], ['https://evil.example']])(
    'the code is %j',
    async (code) => {
      const { cookie, answer } = await ready();
      const refused = await opened.end({ ...answer, code }, cookie);
      expect(codeOf(refused)).toEqual(INVALID);
      expect(refused.body).not.toContain(code);
    },
  );

  test('a link is sent with it, or the body has 10 MB', async () => {
    const { answer } = await ready();
    const both = await post(opened.service, '/v1/session', { oidc: answer, token: 'x' });
    expect(codeOf(both)).toEqual([400, 'invalid_request']);
    expect(
      (await post(opened.service, '/v1/session', { oidc: { ...answer, code: 'x'.repeat(10_000_000) } })).statusCode,
    ).toBe(413);
  });

  test('another site asks', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    for (const url of ['/v1/session/oidc', '/v1/session']) {
      const answer = await opened.service.request({ method: 'POST', url, headers, payload: {} });
      expect([url, answer.statusCode]).toEqual([url, url === '/v1/session' ? 400 : 403]);
    }
  });

  test('the dashboard is open at another name of this machine, which is reported', async () => {
    const answer = await opened.service.request({
      method: 'POST',
      url: '/v1/session/oidc',
      headers: { ...SAME_ORIGIN, host: '127.0.0.1:3000' },
      payload: {},
    });
    expect(codeOf(answer)).toEqual([400, 'invalid_request']);
    expect(answer.json().error.message).toContain('http://localhost:3000/dashboard');
  });

  test('it is begun too often from one network', async () => {
    const remoteAddress = '203.0.113.99';
    const ask = () =>
      opened.service.request({
        method: 'POST',
        url: '/v1/session/oidc',
        headers: { ...SAME_ORIGIN, host: 'localhost:3000' },
        payload: {},
        remoteAddress,
      });
    const answers = await Promise.all(Array.from({ length: 21 }, ask));
    expect(answers.filter(({ statusCode }) => statusCode === 429).length).toBe(1);
  });
});

test('a sign-in that began before the keys of the service were replaced succeeds, and one with foreign keys does not', async () => {
  const { email } = await opened.join();
  opened.provider.person = { email, email_verified: true };
  const key = (byte: number) => ({ id: Buffer.from([byte, byte]), bytes: Buffer.alloc(32, byte) });
  const begun = [await begin(opened.service), await begin(opened.service)] as const;
  const answers = [
    answerOf(await opened.provider.signIn(begun[0].url)),
    answerOf(await opened.provider.signIn(begun[1].url)),
  ];
  const { deps } = opened.service;
  const ALL_KEYS: readonly (typeof deps.trackingKeys)[] = [[key(8)], [key(8), ...deps.trackingKeys]];
  const statuses: number[] = [];
  for (const [index, trackingKeys] of ALL_KEYS.entries()) {
    const replaced = await startService({ ...deps, trackingKeys });
    onTestFinished(() => replaced.close());
    const ended = await post(replaced, '/v1/session', { oidc: answers[index] }, begun[index]?.cookie);
    statuses.push(ended.statusCode);
  }
  expect(statuses).toEqual([401, 200]);
});
