import { expect, test } from 'vitest';
import { readInbound } from '../../../src/adapters/inbound/read-inbound.ts';
import { createInboundPosts } from '../../../src/http/compat/inbound-posts.ts';
import { parseMailLeniently } from '../../../src/lib/mime/mime.ts';
import { createMailBody } from '../../../src/workers/webhooks/mail-body.ts';
import { until } from '../delivering.ts';
import { openMailWebhook, PDF, RAW, TO } from './mail-webhook.ts';

const open = (answer?: Parameters<typeof openMailWebhook>[1]) => openMailWebhook('postmark_inbound', answer);

test('posts the whole mail with the fields of Postmark', async () => {
  const { endpoint, receive } = await open();
  const id = await receive();
  await until(() => expect(endpoint.posts).toHaveLength(1));
  expect(endpoint.posts[0]?.headers['webhook-signature']).toMatch(/^v1,/);
  expect(endpoint.posts[0]?.json).toEqual({
    FromName: 'Zoë "Z"',
    MessageStream: 'inbound',
    From: 'zoe+a@example.net',
    FromFull: { Email: 'zoe+a@example.net', Name: 'Zoë "Z"', MailboxHash: 'a' },
    To: '"Support, Team" <support+42@example.test>, b@example.net',
    ToFull: [
      { Email: 'support+42@example.test', Name: 'Support, Team', MailboxHash: '42' },
      { Email: 'b@example.net', Name: '', MailboxHash: '' },
    ],
    Cc: '"First" <first@example.net>',
    CcFull: [{ Email: 'first@example.net', Name: 'First', MailboxHash: '' }],
    Bcc: '',
    BccFull: [],
    OriginalRecipient: TO,
    Subject: 'Über 42',
    MessageID: id,
    ReplyTo: 'answers@example.net, c@example.net',
    MailboxHash: '42',
    Date: 'Mon, 5 Jan 2026 10:00:00 +0100',
    TextBody: expect.stringMatching(/^Grüße 👋\s+> Hello/),
    HtmlBody: '',
    StrippedTextReply: 'Grüße 👋',
    Tag: '',
    Headers: expect.arrayContaining([
      { Name: 'Message-ID', Value: '<1@example.net>' },
      { Name: 'Subject', Value: 'Über 42' },
    ]),
    Attachments: [
      {
        ...{ Name: 'résumé.pdf', Content: PDF.toString('base64'), ContentType: 'application/pdf' },
        ...{ ContentLength: PDF.length, ContentID: 'one@example.net' },
      },
      {
        ...{ Name: '', Content: Buffer.from('two').toString('base64'), ContentType: 'text/plain' },
        ...{ ContentLength: 3, ContentID: '' },
      },
    ],
    Outbox: expect.objectContaining({
      ...{ domain_id: 'dom_1', contents: 'included', attachments_left_out: 0, marked: false },
      verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
    }),
  });
});

test('posts the same body again after a failure, and empty fields once the contents were removed', async () => {
  const { endpoint, outbox, receive, remove } = await open((count) => ({ status: count < 3 ? 500 : 204 }));
  const id = await receive();
  const postedTimes = async (count: number): Promise<void> => {
    await until(() => {
      outbox.system.shift(60_000);
      expect(endpoint.posts.length).toBeGreaterThanOrEqual(count);
    });
  };
  await postedTimes(2);
  remove();
  await postedTimes(3);
  const [first, second, third] = endpoint.posts;
  expect(second?.body).toBe(first?.body);
  expect(third?.json).toMatchObject({
    ...{ MessageID: id, From: '', ToFull: [], Subject: '', TextBody: '', Headers: [], Attachments: [] },
    ...{ OriginalRecipient: '', Outbox: { contents: 'removed', attachments_left_out: 0 } },
  });
  expect(third?.body).not.toContain('example.net');
});

test('leaves out the attachments of large mail, and those that cannot be read', async () => {
  const { endpoint, receive } = await open();
  await receive({ facts: { bytes: 5_000_001 } });
  await until(() => expect(endpoint.posts).toHaveLength(1));
  await receive({ raw: `${'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n'.repeat(10_000)}x` });
  await until(() => expect(endpoint.posts).toHaveLength(2));
  for (const { json } of endpoint.posts)
    expect(json).toMatchObject({ Subject: 'Über 42', Attachments: [], Outbox: { attachments_left_out: 2 } });
});

test('leaves out texts that are too long, and counts them', async () => {
  const { endpoint, receive } = await open();
  const long = 'x'.repeat(1_000_001);
  const { references: _r, hops: _h, isAutomatic: _a, ...read } = readInbound({ raw: Buffer.from(RAW), isPlain: false });
  const id = await receive({ body: { ...read, html: long } });
  await until(() => expect(endpoint.posts).toHaveLength(1));
  expect(endpoint.posts[0]?.json).toMatchObject({
    ...{ MessageID: id, HtmlBody: '', TextBody: read.text, Outbox: { bodies_left_out: 1, attachments_left_out: 0 } },
  });
});

test('posts the event of a ping', async () => {
  const { endpoint, ping } = await open();
  await ping();
  await until(() => expect(endpoint.types()).toEqual(['webhook.ping']));
});

test('hides the mail from a webhook whose key may not read it', async () => {
  const { outbox, receive, eventOf } = await open();
  const event = await eventOf(await receive());
  const serialize = createInboundPosts({
    ...{ ...outbox.context, publicUrl: () => 'https://mail.example.test' },
    mailParser: { parseLeniently: async (raw) => parseMailLeniently(Buffer.concat(raw)) },
  });
  const { content } = await serialize(event, { hasContents: false, format: 'postmark_inbound' });
  const body = JSON.parse(content.toString());
  expect(body).toMatchObject({ From: '', OriginalRecipient: '', Outbox: { contents: 'hidden' } });
  expect(content).not.toContain('example.');
});

test('makes only as many bodies at the same time as fit in memory, and none that would be late', async () => {
  const { receive, eventOf } = await open();
  const event = await eventOf(await receive({ facts: { bytes: 9_000_000 } }));
  let made = 0;
  const bodyOf = createMailBody({
    serializeMail: async () => {
      made += 1;
      return { content: String(made) };
    },
  });
  const { promise: posted, resolve: answer } = Promise.withResolvers<void>();
  let isLate = false;
  const post = (organizationId: string) =>
    bodyOf({ ...event, organizationId }, { hasContents: true, format: 'postmark_inbound' })(
      () => isLate,
      ({ content }) => posted.then(() => content),
    );
  const posts = [post('org_a'), post('org_a'), post('org_b'), post('org_c')];
  await until(() => expect(made).toBe(2));
  isLate = true;
  answer();
  expect(await Promise.all(posts)).toEqual(['1', null, '2', null]);
  expect(made).toBe(2);
});
