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

const MAIL = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello' };
const post = (url: string, payload: object) => service.request({ method: 'POST', url, key, payload });

describe('a header that could speak for another sender', () => {
  const send = (headers: object) => post('/v1/messages/send', { ...MAIL, text: 'Hi', headers });

  test('is refused by its name', async () => {
    const resent = await send({ 'Resent-From': 'ceo@bank.test' });
    expect([resent.statusCode, resent.json().error]).toMatchObject([
      403,
      {
        code: 'from_domain_mismatch',
        details: { headers: ['headers.Resent-From must be an address on example.test'] },
      },
    ]);
    const link = await send({ 'List-Unsubscribe': '<javascript:alert(1)>' });
    expect([link.statusCode, link.json().error.details]).toEqual([
      400,
      { headers: ['headers.List-Unsubscribe must have only https:, http: and mailto: links, not javascript:'] },
    ]);
    const oneClick = await send({
      'List-Unsubscribe': '<http://example.test/u>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    });
    expect(oneClick.statusCode).toBe(400);
  });

  test('is refused in a batch, which names the message', async () => {
    const messages = [
      { ...MAIL, text: 'Hi' },
      { ...MAIL, text: 'Hi', headers: { 'Resent-From': 'ceo@bank.test' } },
    ];
    const answer = await post('/v1/messages/batch', { messages });
    expect([answer.statusCode, Object.keys(answer.json().error.details)]).toEqual([403, ['messages[1].headers']]);
  });
});
