import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };

const send = (payload: object, idempotencyKey?: string) =>
  service.request({
    method: 'POST',
    url: '/v1/messages/send',
    key,
    payload: { ...VALID, ...payload },
    ...(idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey } }),
  });

const detailsOf = async (payload: object): Promise<unknown> => {
  const answer = await send(payload);
  expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'invalid_request']);
  return answer.json().error.details;
};

const SHAPE = 'unsubscribe must be "managed", or an object with url, mailto or both';
const URL_SENTENCE = 'unsubscribe.url must be a complete https URL in ASCII, percent-encoded where needed';

describe('unsubscribe', () => {
  test.each([
    'managed',
    { url: 'https://example.test/u?id=1' },
    { mailto: 'leave@example.test' },
    { mailto: 'leave@MÜLLER.example' },
    { url: 'https://example.test/u', mailto: 'leave+1@example.test' },
  ])('may be %j', async (unsubscribe) => {
    expect((await send({ unsubscribe })).statusCode).toBe(202);
  });

  test.each([
    [undefined, null],
    ['managed', 'managed'],
    [{ mailto: 'leave@MÜLLER.example' }, { url: null, mailto: 'leave@xn--mller-kva.example' }],
    [{ url: 'https://example.test/u' }, { url: 'https://example.test/u', mailto: null }],
  ])('given as %j is shown with the message as %j', async (given, shown) => {
    const { id } = (await send({ unsubscribe: given })).json();
    const content = await service.request({ url: `/v1/messages/${id}/content`, key });
    expect(content.json().unsubscribe).toEqual(shown);
  });

  test.each(['yes', 'Managed', '', true, 7, [], ['managed'], {}, { url: undefined }, { one_click: true }])(
    'is refused as %j',
    async (unsubscribe) => {
      expect(await detailsOf({ unsubscribe })).toEqual({ unsubscribe: [SHAPE] });
    },
  );

  test.each([
    [{ url: 'http://example.test/u' }, URL_SENTENCE],
    [{ url: 'example.test' }, URL_SENTENCE],
    [{ url: 'https://example.test/\r\nBcc: b@c.test' }, URL_SENTENCE],
    [{ url: 'https://example.test/>,<mailto:a@b.test' }, URL_SENTENCE],
    [{ url: 'https://user:password@example.test/' }, 'unsubscribe.url must not contain a user name or password'],
    [{ url: `https://example.test/${'x'.repeat(1_000_000)}` }, 'unsubscribe.url must have at most 900 characters'],
    [{ url: 'https://example.test/', more: 1 }, 'unsubscribe.more is not a known field'],
    [{ url: 7 }, 'unsubscribe.url must be a string'],
    [{ url: null }, 'unsubscribe must be "managed", or an object with url, mailto or both'],
    [{ mailto: 'x' }, 'unsubscribe.mailto is not an email address: it has no @'],
    [
      { mailto: 'mailto:a@b.test?subject=x' },
      'unsubscribe.mailto is not an email address: its local part is malformed',
    ],
    [
      { mailto: 'a@b.test\r\nBcc: c@d.test' },
      'unsubscribe.mailto is not an email address: it contains a control character',
    ],
    [{ mailto: 'Name <a@b.test>' }, 'unsubscribe.mailto is not an email address: it has a display name'],
    [{ mailto: 'a@b.test, c@d.test' }, 'unsubscribe.mailto is not an email address: its local part is malformed'],
    [{ mailto: ['a@b.test'] }, 'unsubscribe.mailto must be a string'],
  ])('is refused as %j with its reason', async (unsubscribe, sentence) => {
    expect(await detailsOf({ unsubscribe })).toEqual({ unsubscribe: [sentence] });
  });

  test('names everything that is wrong with it at once', async () => {
    expect(await detailsOf({ unsubscribe: { url: 'x', mailto: 'x' }, subject: '' })).toEqual({
      subject: ['subject must not be empty'],
      unsubscribe: [URL_SENTENCE, 'unsubscribe.mailto is not an email address: it has no @'],
    });
  });

  test('is refused next to headers of its own, which are accepted alone', async () => {
    const headers = { 'List-unsubscribe': '<https://b.test/>', 'LIST-UNSUBSCRIBE-POST': 'List-Unsubscribe=One-Click' };
    expect((await send({ headers })).statusCode).toBe(202);
    for (const unsubscribe of ['managed', { mailto: 'leave@example.test' }]) {
      expect(await detailsOf({ headers, unsubscribe })).toEqual({
        headers: [
          'headers.List-unsubscribe is not allowed together with unsubscribe, which writes this header',
          'headers.LIST-UNSUBSCRIBE-POST is not allowed together with unsubscribe, which writes this header',
        ],
      });
    }
  });

  test('is part of what an Idempotency-Key identifies', async () => {
    expect((await send({ unsubscribe: 'managed' }, 'k')).statusCode).toBe(202);
    expect((await send({ unsubscribe: 'managed' }, 'k')).headers['idempotent-replayed']).toBe('true');
    const other = await send({ unsubscribe: { url: 'https://example.test/' } }, 'k');
    expect(other.json().error.code).toBe('idempotency_key_reused');
  });
});
