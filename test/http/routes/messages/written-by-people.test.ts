import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Submitting, startSubmitting } from '../../../submission/support/submitting.ts';

/** Requests in the forms that people actually write. */

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting({}, {}, () => undefined);
});
afterAll(() => submitting.close());

const FIELDS = { from: 'ann@example.test', to: 'bob@example.org', subject: 'Hello', text: 'Hi' };
const FILE = { filename: 'a.pdf', content: 'aGVsbG8=' };

const post = async (url: string, payload: object | string | Buffer, headers: Record<string, string> = {}) => {
  const type = { 'content-type': 'application/json' };
  const answer = await submitting.service.request({
    method: 'POST',
    url,
    key: submitting.key,
    payload,
    headers: { ...type, ...headers },
  });
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
};
const send = (more: object, headers: Record<string, string> = {}) =>
  post('/v1/messages/send', { ...FIELDS, ...more }, headers);
const contentOf = async (id: string) =>
  (await submitting.service.request({ url: `/v1/messages/${id}/content`, key: submitting.key })).json();

describe('a mailbox that is repeated', () => {
  const NAMED = {
    to: ['Bob@Example.ORG', 'b@example.org'],
    cc: 'bob@example.org',
    bcc: ['B <b@example.org>', 'c@example.org'],
  };
  const ONCE = [
    ['to', 'Bob@example.org'],
    ['to', 'b@example.org'],
    ['bcc', 'c@example.org'],
  ];
  const shown = (recipients: readonly Readonly<Record<string, unknown>>[]) =>
    recipients.map(({ kind, address }) => [kind, address]);

  test('is one recipient, of the first kind that names it', async () => {
    const { status, body } = await send(NAMED);
    expect([status, shown(body.recipients)]).toEqual([202, ONCE]);
  });

  test('is one recipient in a batch and for clients of other services too', async () => {
    const batch = await post('/v1/messages/batch', { messages: [{ ...FIELDS, ...NAMED }] });
    expect(shown(batch.body.data[0].recipients)).toEqual(ONCE);
    const { body } = await post('/compat/resend/emails', { ...FIELDS, ...NAMED });
    const message = (await submitting.service.request({ url: `/v1/messages/${body.id}`, key: submitting.key })).json();
    expect(message.recipients).toHaveLength(3);
  });

  test('has the same response when the request is repeated', async () => {
    const first = await send(NAMED, { 'idempotency-key': 'named twice' });
    const second = await send(NAMED, { 'idempotency-key': 'named twice' });
    expect([second.status, second.body]).toEqual([202, first.body]);
    expect(second.headers['idempotent-replayed']).toBe('true');
  });

  test('is two if the local parts differ by more than case', async () => {
    const { body } = await send({ to: ['bob@example.org', 'bob+a@example.org', '"b b"@example.org'] });
    expect(body.recipients).toHaveLength(3);
  });
});

describe('an empty value in an optional field', () => {
  test('is absent if it is a list', async () => {
    const { status, body } = await send({ cc: [], bcc: [], reply_to: [], tags: [], attachments: [] });
    expect([status, body.recipients?.length]).toEqual([202, 1]);
    expect((await contentOf(body.id)).reply_to).toEqual([]);
  });

  test('is refused if the field is required', async () => {
    expect((await send({ to: [] })).body.error.details).toEqual({ to: ['to must not be empty'] });
  });
});

describe('an attachment', () => {
  test.each([
    ['a.PDF', 'application/pdf'],
    ['Bericht 2026.final.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['event.ics', 'text/calendar'],
    ['pdf', 'application/octet-stream'],
    ['a.constructor', 'application/octet-stream'],
  ])('%s without a type has the type of its name', async (filename, type) => {
    const { body } = await send({ attachments: [{ ...FILE, filename }] });
    expect((await contentOf(body.id)).attachments[0].content_type).toBe(type);
  });

  test('with a type keeps it', async () => {
    const { body } = await send({ attachments: [{ ...FILE, content_type: 'image/png' }] });
    expect((await contentOf(body.id)).attachments[0].content_type).toBe('image/png');
  });

  const LINES = `${'QUJD'.repeat(19)}\r\n${'QUJD'.repeat(19)}\r\nQUI=\r\n`;
  test('in base64 with line breaks is accepted from clients of other services', async () => {
    const attachments = [{ filename: 'a.txt', content: LINES }];
    const resend = await post('/compat/resend/emails', { ...FIELDS, attachments });
    expect((await contentOf(resend.body.id)).attachments[0].content).toBe(LINES.replaceAll('\r\n', ''));
    const postmark = await post(
      '/compat/postmark/email',
      {
        From: FIELDS.from,
        To: FIELDS.to,
        Subject: 'x',
        TextBody: 'x',
        Attachments: [{ Name: 'a.txt', Content: LINES, ContentType: 'text/plain' }],
      },
      { 'x-postmark-server-token': submitting.key, authorization: '' },
    );
    expect((await contentOf(postmark.body.MessageID)).attachments[0].content).toBe(LINES.replaceAll('\r\n', ''));
    const strict = await send({ attachments });
    expect([strict.status, JSON.stringify(strict.body.error.details)]).toEqual([
      400,
      expect.stringContaining('base64'),
    ]);
  });

  test('in base64 with anything else in it is refused', async () => {
    for (const content of ['QUJD\tQUJD', 'QUJD-_==', '=\n=', 'QU\\nJD']) {
      const { status } = await post('/compat/resend/emails', { ...FIELDS, attachments: [{ ...FILE, content }] });
      expect([content, status]).toEqual([content, 400]);
    }
  });
});

describe('a byte order mark', () => {
  test('before the body is skipped, together with it or alone', async () => {
    const body = `\uFEFF${JSON.stringify(FIELDS)}`;
    expect((await post('/v1/messages/send', body)).status).toBe(202);
    expect((await post('/v1/messages/send', Buffer.from(body))).status).toBe(202);
    expect((await post('/v1/messages/send', '\uFEFF')).body.error.code).toBe('invalid_json');
    expect((await post('/v1/messages/send', `\uFEFF\uFEFF${JSON.stringify(FIELDS)}`)).body.error.code).toBe(
      'invalid_json',
    );
  });
});

describe('names and addresses', () => {
  test('with special characters are quoted', async () => {
    const { status, body } = await send({ from: 'Acme, Inc. <ann@example.test>', to: 'Bob (home) <bob@example.org>' });
    expect(status).toBe(202);
    const composed = (await submitting.composed(body.id)).toString();
    expect(composed).toContain('From: "Acme, Inc." <ann@example.test>\r\n');
    expect(composed).toContain('To: "Bob (home)" <bob@example.org>\r\n');
  });

  test.each(['a@x.test, Bob <b@y.test>', 'A <a@x.test>, B <b@y.test>', 'a@x.test; b@y.test'])(
    'are refused if several are in one string: %s',
    async (to) => {
      expect((await send({ to })).body.error.details.to[0]).toContain('use an array with one address per item');
    },
  );

  test('with quoted local parts and the odd dots of Japanese carriers are written so that servers accept them', async () => {
    const to = ['"john doe"@example.org', 'a..b@docomo.ne.jp', 'a.@ezweb.ne.jp'];
    const { status, body } = await send({ to });
    expect([status, body.recipients.map(({ address }: { address: string }) => address)]).toEqual([202, to]);
    const composed = (await submitting.composed(body.id)).toString();
    expect(composed).toContain('To: "john doe"@example.org,\r\n "a..b"@docomo.ne.jp,\r\n "a."@ezweb.ne.jp\r\n');
  });

  test('without angle brackets are accepted by SMTP', async () => {
    const talk = await submitting.talk();
    expect(await talk.ask('MAIL FROM:ann@example.test SIZE=100\r\n')).toMatch(/^250/);
    expect(await talk.ask('rcpt to: bob@example.org\r\n')).toMatch(/^250/);
    expect(await talk.ask('RCPT TO:bob@example.org> x\r\n')).toMatch(/^501/);
    expect(await talk.ask('RCPT TO:\r\n')).toMatch(/^501/);
    expect(await talk.ask('RCPT TO:nobody\r\n')).toMatch(/^5/);
    expect(await talk.ask('RCPT TO:bob@example.org NOTIFY=NEVER SIZE=1\r\n')).toMatch(/^555/);
    expect(await talk.ask('RCPT TO:<carol@example.org>\r\n')).toMatch(/^250/);
    talk.close();
  });

  test('with odd dots are accepted by SMTP, only for these carriers', async () => {
    const talk = await submitting.talk();
    await talk.ask('MAIL FROM:<ann@example.test>\r\n');
    expect(await talk.ask('RCPT TO:<a..b@docomo.ne.jp>\r\n')).toMatch(/^250/);
    expect(await talk.ask('RCPT TO:<"c..d"@docomo.ne.jp>\r\n')).toMatch(/^250/);
    expect(await talk.ask('RCPT TO:<a..b@example.org>\r\n')).toMatch(/^553 5\.1\.3/);
    expect(await talk.ask('RCPT TO:<a@[127.0.0.1]>\r\n')).toMatch(/^553 5\.1\.3/);
    talk.close();
  });

  test('are required in a header of addresses that must be encoded', async () => {
    const { status, body } = await send({ headers: { 'Errors-To': 'niemand für uns' } });
    expect([status, body.error.details.headers[0]]).toEqual([400, expect.stringContaining('must be email addresses')]);
  });
});

describe('other forms of a message', () => {
  const INVITATION = Buffer.from('BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n').toString('base64');
  const CALENDAR = { content_type: 'text/calendar; charset=utf-8; method=REQUEST', content: INVITATION };
  const AMP = { content_type: 'text/x-amp-html; charset=utf-8', content: 'PGh0bWwg4pqhPjwvaHRtbD4=' };

  test('are written with text and html, AMP before the html and an invitation after it', async () => {
    const { status, body } = await send({ html: '<p>Hi</p>', alternatives: [CALENDAR, AMP] });
    expect(status).toBe(202);
    expect((await contentOf(body.id)).alternatives).toEqual([CALENDAR, AMP]);
    const types = [...(await submitting.composed(body.id)).toString().matchAll(/^Content-Type: ([\w/-]+)/gm)];
    expect(types.map(([, type]) => type)).toEqual([
      'multipart/alternative',
      'text/plain',
      'text/x-amp-html',
      'text/html',
      'text/calendar',
    ]);
  });

  test.each([
    [[{ ...CALENDAR, content: 'no base64' }], 'alternatives[0].content must be base64'],
    [[{ ...CALENDAR, content: 'QUJD'.repeat(100_001) }], 'alternatives[0].content must have at most 400000 characters'],
    [[{ ...CALENDAR, content_type: 'text/calendar\r\nBcc: x@y.test' }], 'alternatives[0].content_type must be a media'],
    [[{ ...CALENDAR, content_type: 'multipart/mixed' }], 'alternatives[0].content_type must be a media type'],
    [[{ ...CALENDAR, content_type: 'message/rfc822' }], 'alternatives[0].content_type must be a media type'],
    [[{ ...CALENDAR, filename: 'a' }], 'alternatives[0].filename is not a known field'],
    [Array.from({ length: 6 }, () => CALENDAR), 'alternatives must have at most 5 items'],
    [{}, 'alternatives must be an array'],
  ])('are refused otherwise: %#', async (alternatives, sentence) => {
    const { status, body } = await send({ alternatives });
    expect([status, JSON.stringify(body.error.details)]).toEqual([400, expect.stringContaining(sentence)]);
  });

  test('may be an empty list, which means none', async () => {
    const { body } = await send({ alternatives: [] });
    expect((await contentOf(body.id)).alternatives).toEqual([]);
  });
});

describe('a message attached to a message', () => {
  const attached = (text: string) => [
    { filename: 'a.eml', content: Buffer.from(text).toString('base64'), content_type: 'message/rfc822' },
  ];

  test('is written unencoded', async () => {
    const { status, body } = await send({ attachments: attached('Subject: inner\r\n\r\nHello') });
    expect(status).toBe(202);
    const composed = (await submitting.composed(body.id)).toString();
    expect(composed).toMatch(/Content-Type: message\/rfc822;\r\n name=a\.eml\r\nContent-Transfer-Encoding: 7bit\r\n/);
    expect(composed).toContain('Subject: inner\r\n\r\nHello\r\n');
  });

  test.each([
    ['Subject: \u00e4\r\n\r\nHello'],
    ['Subject: x\n\nHello'],
    [`Subject: x\r\n\r\n${'x'.repeat(999)}`],
    [`Subject: x\r\n\r\n${'x\r\n'.repeat(1_600_000)}`],
  ])('that cannot be written so is refused: %#', async (text) => {
    const { status, body } = await send({ attachments: attached(text) });
    expect(status).toBe(400);
    expect(body.error.details.attachments[0]).toContain(
      'attachments[0] is a message that is too large, or not ASCII lines',
    );
  });
});

describe('null and empty lists in optional fields', () => {
  const NULLS = {
    ...{ cc: null, bcc: [], reply_to: null, html: null, headers: null, tags: null, metadata: null, stream: null },
    ...{ attachments: null, scheduled_at: null, ttl_seconds: null, tracking: null, analysis: null, template: null },
    ...{ unsubscribe: null },
  };

  test('mean that the field is absent, in one message and in a batch', async () => {
    const { status, body } = await send(NULLS);
    expect([status, body.recipients?.length, body.error]).toEqual([202, 1, undefined]);
    const batch = await post('/v1/messages/batch', {
      messages: Array.from({ length: 3 }, () => ({ ...FIELDS, ...NULLS })),
      mode: null,
    });
    expect([batch.status, batch.body.accepted]).toEqual([202, 3]);
    expect((await post('/v1/messages/analyze', { ...FIELDS, ...NULLS })).status).toBe(200);
  });

  test('mean the same within a field', async () => {
    const attachments = [{ ...FILE, content_type: null, content_id: null }];
    expect((await send({ attachments, tracking: { opens: null, clicks: false } })).status).toBe(202);
  });

  test('say that a required field is missing', async () => {
    const { status, body } = await post('/v1/messages/send', { from: null, to: null, subject: null, html: null });
    expect([status, body.error.details]).toMatchObject([
      400,
      { from: ['from is required'], to: ['to is required'], subject: ['subject is required'] },
    ]);
    const named = await send({ attachments: [{ ...FILE, filename: null }] });
    expect([named.status, Object.values(named.body.error.details).flat()]).toEqual([
      400,
      ['attachments[0].filename is required'],
    ]);
  });

  test('are refused as items of a list, together with other problems', async () => {
    expect((await send({ to: ['a@example.org', null] })).status).toBe(400);
    expect((await send({ tags: [null] })).status).toBe(400);
    const { body } = await send({ cc: null, reply_to: 5, unknown: null });
    expect(Object.keys(body.error.details).sort()).toEqual(['reply_to', 'unknown']);
  });

  test('are read in bounded time, however many there are', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, null]));
    const { cpu } = await (async () => {
      const before = process.cpuUsage();
      await send({ metadata });
      return { cpu: process.cpuUsage(before).user / 1000 };
    })();
    expect(cpu).toBeLessThan(5_000);
  });
});
