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

const send = (payload: object) => service.request({ method: 'POST', url: '/v1/messages/send', key, payload });

const detailsOf = async (payload: object): Promise<Record<string, string[]>> => {
  const answer = await send(payload);
  expect(answer.statusCode).toBe(400);
  return answer.json().error.details;
};

describe('a message', () => {
  test.each([
    [{}, 'Hello'],
    [{ text: 'Hello, dear reader' }, 'Hello, dear reader'],
    [{ html: '<img src="https://example.test/a.png" alt="" width="9">' }, null],
  ])('with %j shows the text that is sent as its content', async (fields, text) => {
    const { id } = (await send({ ...VALID, ...fields })).json();
    expect((await service.request({ url: `/v1/messages/${id}/content`, key })).json()).toMatchObject({ text });
  });

  test('accepts Reply-To in the headers instead of reply_to, but not both', async () => {
    const headers = { 'Reply-to': 'Desk <desk@example.org>' };
    const answer = await send({ ...VALID, headers });
    expect(answer.statusCode).toBe(202);
    const content = await service.request({ url: `/v1/messages/${answer.json().id}/content`, key });
    expect(content.json()).toMatchObject({ headers, reply_to: [] });
    expect(await detailsOf({ ...VALID, headers, reply_to: 'desk@example.org' })).toEqual({
      headers: ['headers.Reply-to is not allowed together with reply_to, which writes this header'],
    });
  });

  test.each([
    'text/plain;\r\n charset=utf-8',
    'text/plain ;charset=utf-8',
    'text/plain; name="Grüße"',
    'text/plain; name="a\tb"',
    'multipart/mixed; boundary=x',
    `text/plain; name=${'x'.repeat(1000)}`,
    'nonsense',
  ])('refuses an attachment of type %j, which could not be sent as such', async (content_type) => {
    const attachments = [{ filename: 'a', content: '', content_type }];
    expect(await detailsOf({ ...VALID, attachments })).toEqual({
      attachments: [
        'attachments[0].content_type must be a media type such as application/pdf, but not multipart/* or message/* (except message/rfc822)',
      ],
    });
  });

  test.each(['text/plain', 'text/plain; charset=utf-8', 'application/x-y.z+json;a="b c"; d=e'])(
    'accepts an attachment of type %s',
    async (content_type) => {
      const attachments = [{ filename: 'a', content: '', content_type }];
      expect((await send({ ...VALID, attachments })).statusCode).toBe(202);
    },
  );

  test('refuses two attachments with the same content_id as a mistake', async () => {
    const image = { filename: 'a.png', content: '', content_type: 'image/png', content_id: 'logo' };
    expect(await detailsOf({ ...VALID, attachments: [image, { ...image, content_id: 'other' }, image] })).toEqual({
      attachments: ['attachments[2].content_id is already used by attachments[0]'],
    });
    const html = '<p><img src="cid:nowhere" alt=""></p>';
    expect((await send({ ...VALID, html, attachments: [image] })).statusCode).toBe(202);
  });

  const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, index) => make(index));
  const address = (index: number): string => `b${index}@example.org`;
  const keyed = (count: number) => Object.fromEntries(many(count, (index) => [`X-${index}`, 'x']));
  const file = { filename: 'a.txt', content: 'aGVsbG8=' };

  test.each([
    ['50 recipients in all', { to: many(20, address), cc: many(20, address), bcc: many(10, address) }],
    ['a subject of 998 characters', { subject: 'x'.repeat(998) }],
    ['10 tags', { tags: many(10, () => ({ name: 'a', value: '' })) }],
    ['50 keys of metadata', { metadata: keyed(50) }],
    ['50 headers', { headers: keyed(50) }],
    [
      'a thread of two hundred messages',
      {
        headers: {
          References: Array.from({ length: 200 }, (_, at) => `<${at}.${'m'.repeat(50)}@mail.example.org>`).join(' '),
        },
      },
    ],
    [
      'HTAB where white space may stand (RFC 5322 §2.2.2)',
      { to: 'Bob\t<bob@example.org>', subject: 'A\tB', headers: { References: '<1@example.org>\t<2@example.org>' } },
    ],
    ['20 attachments', { attachments: many(20, () => file) }],
    ['several reply_to, with names', { reply_to: ['Desk <desk@example.org>', '"Doe, Jane" <jane@example.org>'] }],
    ['text alone, empty or not', { html: undefined, text: '' }],
    ['a time to live of 7 days', { ttl_seconds: 604_800 }],
    [
      'headers that others own',
      { headers: { 'In-Reply-To': '<1@example.org>', References: '<1@example.org>', 'X-A': 'x' } },
    ],
    ['a million characters of text', { text: 'x'.repeat(1_000_000) }],
  ])('accepts %s', async (_what, fields) => {
    expect((await send({ ...VALID, ...fields })).statusCode).toBe(202);
  });

  test.each([
    [
      '51 recipients in all',
      { to: many(20, address), cc: many(20, address), bcc: many(11, address) },
      'to, cc and bcc must have at most 50 addresses together',
    ],
    ['51 keys of metadata', { metadata: keyed(51) }, 'metadata must have at most 50 keys'],
    ['51 headers', { headers: keyed(51) }, 'headers must have at most 50 keys'],
    [
      'a header without a place to fold it',
      { headers: { References: `<1@x.test> ${'x'.repeat(999)}` } },
      'headers.References must not have more than 998 characters without a space: a header line cannot be longer',
    ],
    [
      'a header that is too long',
      { headers: { 'X-A': 'x '.repeat(8_001) } },
      'headers.X-A must have at most 16000 characters',
    ],
    [
      'headers that are too long together',
      { headers: Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`X-${at}`, 'x '.repeat(7_000)])) },
      'headers must have at most 64000 characters in total',
    ],
    [
      'one header under two names',
      { headers: { References: '<1@example.org>', references: '<2@example.org>' } },
      'headers.references is given twice: header names are case-insensitive',
    ],
    ['21 attachments', { attachments: many(21, () => file) }, 'attachments must have at most 20 items'],
    [
      'base64 with a line break',
      { attachments: [{ ...file, content: 'aGVs\nbG8=' }] },
      'attachments[0].content must be base64 (RFC 4648 §4) without line breaks',
    ],
    ['two addresses in one', { to: 'a@example.org, b@example.org' }, /^to is not an email address: /],
    ['a group', { to: 'team: a@example.org;' }, /^to is not an email address: /],
    ['a time to live of none', { ttl_seconds: 0 }, 'ttl_seconds must be at least 1'],
    [
      'a content_id with angle brackets',
      { attachments: [{ ...file, content_id: '<a>' }] },
      /^attachments\[0\]\.content_id must be /,
    ],
    ['neither html nor text', { html: undefined }, 'html or text is required'],
    ['more than a million characters', { html: 'x'.repeat(1_000_001) }, 'html must have at most 1000000 characters'],
  ])('refuses %s', async (_what, fields, sentence) => {
    const [only, ...others] = Object.values(await detailsOf({ ...VALID, ...fields }));
    expect([only, others]).toEqual([[typeof sentence === 'string' ? sentence : expect.stringMatching(sentence)], []]);
  });

  test.each([
    'From',
    'to',
    'CC',
    'Bcc',
    'Subject',
    'Date',
    'Message-ID',
    'DKIM-Signature',
    'Return-Path',
    'Received',
    'Sender',
    'Content-Type',
    'Content-Anything',
    'MIME-Version',
  ])('refuses the header %s, which the service writes', async (name) => {
    expect(await detailsOf({ ...VALID, headers: { [name]: 'x' } })).toEqual({
      headers: [`headers.${name} is not allowed: the service writes this header`],
    });
  });

  test.each(['layout', 'Subject', 'replyTo', 'constructor'])('refuses %s, which is not a field', async (name) => {
    expect(await detailsOf({ ...VALID, [name]: {} })).toEqual({
      [name]: [expect.stringMatching(`^${name} is not a known field`)],
    });
    expect((await detailsOf({ ...VALID, replyTo: 'ann@example.net' })).replyTo).toEqual([
      'replyTo is not a known field: did you mean reply_to?',
    ]);
  });
});

describe('each problem of a request is one sentence', () => {
  test.each([
    ['a list for a text', { subject: [] }, { subject: ['subject must be a string'] }],
    ['a long list for a text', { subject: ['x'.repeat(2_000)] }, { subject: ['subject must be a string'] }],
    ['an empty text', { subject: '' }, { subject: ['subject must not be empty'] }],
    ['an empty list', { to: [] }, { to: ['to must not be empty'] }],
    ['an object for a list', { tags: {} }, { tags: ['tags must be an array'] }],
  ])('%s', async (_what, fields, details) => {
    expect(await detailsOf({ ...VALID, ...fields })).toEqual(details);
  });

  test.each(['null', '[]', '"x"', '5', 'true'])('a body that is %s', async (payload) => {
    const answer = await service.request({
      method: 'POST',
      url: '/v1/messages/send',
      key,
      payload,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.details).toEqual({ body: ['body must be an object'] });
  });

  test('a repeated query parameter', async () => {
    const answer = await service.request({ url: '/v1/events?limit=1&limit=2&wait=1&wait=2&types=x', key });
    expect(answer.json().error.details).toMatchObject({
      limit: ['limit is given more than once'],
      wait: ['wait is given more than once'],
    });
  });
});
