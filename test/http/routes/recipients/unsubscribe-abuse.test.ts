import { describe, expect, test } from 'vitest';
import { formatId } from '../../../../src/domain/kernel/ids.ts';
import { unsubscribeToken } from '../../../../src/domain/message/tokens.ts';
import { PAGE_REQUESTS_MAX } from '../../../../src/http/pages/page.ts';
import { createUnsubscribing, expectPage, FORM } from '../../support/unsubscribing.ts';

const { send, tokensOf, tokenOf, aToken, ask, post, request, unsubscribedOf, historyOf, whileAway } =
  createUnsubscribing();

const NOT_VALID = 'This link is not valid';

describe('a forged link', () => {
  const id = (prefix: 'msg' | 'rcp', byte: number) => formatId(prefix, new Uint8Array(16).fill(byte));

  const expectRefused = async (token: string): Promise<void> => {
    const [opened, posted] = [await ask(token), await post(token)];
    for (const answer of [opened, posted]) expectPage(answer, 404, NOT_VALID);
    expect(opened.body).toBe(posted.body);
  };

  test('is 404, the same page for each, and changes nothing', async () => {
    const sent = await send();
    const another = await send();
    const [token = ''] = tokensOf(sent);
    const [foreign = ''] = tokensOf(sent, 'other');
    await expectRefused(foreign);
    await expectRefused(tokenOf(id('msg', 1), id('rcp', 1)));
    await expectRefused(tokenOf(sent.id, id('rcp', 1)));
    await expectRefused(tokenOf(sent.id, another.recipients[0]?.id ?? ''));
    await expectRefused(unsubscribeToken(new Uint8Array(32), id('msg', 1), id('rcp', 1)));
    await expectRefused(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`);
    await expectRefused('A'.repeat(64));
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
    expect((await historyOf(id('msg', 1))).length).toBe(0);
  });

  test.each([
    ['truncated', (token: string) => token.slice(0, 63)],
    ['too long', (token: string) => `${token}A`],
    ['of 10 kB', (token: string) => token.repeat(160)],
    ['in standard base64', (token: string) => `${token.slice(0, 62)}%2B%2F`],
    ['with padding', (token: string) => `${token}%3D`],
    ['with a line break', (token: string) => `${token}%0D%0A`],
    ['with NUL', (token: string) => `${token.slice(0, 63)}%00`],
    ['with markup', () => '%3Cscript%3Ealert(1)%3C%2Fscript%3E'],
    ['of a path', () => '..%2F..%2Fv1%2Fmessages'],
  ])('because it is %s is 404', async (_what, spoil) => {
    const token = spoil(await aToken());
    await expectRefused(token);
    expect((await ask(token)).body).not.toContain('script');
  });

  test('because it cannot be decoded is 400', async () => {
    const answer = await ask('%zz');
    expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'invalid_request']);
  });
});

describe('the pages', () => {
  test('accept only GET and POST, and are not found without a token', async () => {
    const token = await aToken();
    for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH'] as const) {
      const answer = await ask(token, { method });
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, POST']);
      expect(answer.json().error.code).toBe('method_not_allowed');
    }
    expectPage(await ask(''), 404, NOT_VALID);
    expect((await ask(`${token}/more`)).statusCode).toBe(404);
  });

  test('ignore keys, which are neither required nor read', async () => {
    const answer = await ask(await aToken(), { headers: { authorization: 'Bearer nonsense' } });
    expect(answer.statusCode).toBe(200);
  });

  test('say so when the log is unavailable, and change nothing', async () => {
    const sent = await send();
    const [token = ''] = tokensOf(sent);
    for (const answer of await whileAway(() => Promise.all([ask(token), post(token)]))) {
      expectPage(answer, 503, 'Temporarily unavailable');
      expect(answer.headers['retry-after']).toBe('1');
    }
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });

  test('are limited by address, whatever the link, and other pages are not', async () => {
    const token = await aToken();
    const by = (remoteAddress: string) => ask(token, { remoteAddress });
    for (let asked = 0; asked < PAGE_REQUESTS_MAX; asked += 1) {
      expect((await ask('x', { remoteAddress: `2001:db8::${asked.toString(16)}` })).statusCode).toBe(404);
    }
    const refused = await by('2001:db8::ffff');
    expectPage(refused, 429, 'Too many requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await by('2001:db8:1::1')).statusCode).toBe(200);
  });

  test('do not open the API to forms', async () => {
    const answer = await request({
      method: 'POST',
      url: '/v1/messages/send',
      payload: 'List-Unsubscribe=One-Click',
      headers: { 'content-type': FORM },
    });
    expect([answer.statusCode, answer.json().error.code]).toEqual([415, 'unsupported_media_type']);
  });
});
