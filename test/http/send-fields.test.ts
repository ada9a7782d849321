import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from './support/service.ts';

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };

const send = (payload: object) => service.request({ method: 'POST', url: '/v1/messages/send', key, payload });

const detailsOf = async (payload: object): Promise<Record<string, string[]>> => {
  const answer = await send(payload);
  expect(answer.statusCode).toBe(400);
  return answer.json().error.details;
};

describe('a message', () => {
  test('takes Reply-To among the headers instead of reply_to, not beside it', async () => {
    const headers = { 'Reply-to': 'Desk <desk@example.org>' };
    const answer = await send({ ...VALID, headers });
    expect(answer.statusCode).toBe(202);
    const content = await service.request({ url: `/v1/messages/${answer.json().id}/content`, key });
    expect(content.json()).toMatchObject({ headers, reply_to: [] });
    expect(await detailsOf({ ...VALID, headers, reply_to: 'desk@example.org' })).toEqual({
      headers: ['headers.Reply-to is not allowed beside reply_to, which writes this header'],
    });
  });

  test.each([
    'text/plain;\r\n charset=utf-8',
    'text/plain ;charset=utf-8',
    'text/plain; name="Grüße"',
    'text/plain; name="a\tb"',
    'message/rfc822',
    'multipart/mixed; boundary=x',
    `text/plain; name=${'x'.repeat(1000)}`,
    'nonsense',
  ])('refuses an attachment of type %j, which could not be sent as such', async (content_type) => {
    const attachments = [{ filename: 'a', content: '', content_type }];
    expect(await detailsOf({ ...VALID, attachments })).toEqual({
      attachments: [
        'attachments[0].content_type must be a media type (RFC 6838), and neither multipart/* nor message/*',
      ],
    });
  });

  test.each(['text/plain', 'text/plain; charset=utf-8', 'application/x-y.z+json;a="b c"; d=e'])(
    'takes an attachment of type %s',
    async (content_type) => {
      const attachments = [{ filename: 'a', content: '', content_type }];
      expect((await send({ ...VALID, attachments })).statusCode).toBe(202);
    },
  );
});
