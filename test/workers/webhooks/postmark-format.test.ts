import { expect, test } from 'vitest';
import { readInbound } from '../../../src/adapters/inbound/read-inbound.ts';
import type { Origin } from '../../../src/commands/execute.ts';
import { pingWebhook, registerWebhook } from '../../../src/commands/webhook.ts';
import { customerEvents } from '../../../src/domain/customer-events/customer-events.ts';
import { inboundStream } from '../../../src/domain/kernel/streams.ts';
import type { StoredBody } from '../../../src/domain/ports/contents.ts';
import { createPostmarkInbound } from '../../../src/http/compat/postmark-inbound.ts';
import { parseMailLeniently } from '../../../src/lib/mime/mime.ts';
import { createMailBody } from '../../../src/workers/webhooks/mail-body.ts';
import { type ReceivedMail, receive } from '../../http/support/received-mail.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { until } from '../delivering.ts';
import { openService } from '../service.ts';
import { receiver } from './opened.ts';
import type { Answer } from './receiver.ts';

const environment = 'live';
const TO = 'support+42@example.test';
const PDF = Buffer.from([0, 255, 10, 13, 37]);
const RAW = [
  'From: =?utf-8?q?Zo=C3=AB_=22Z=22?= <zoe+a@example.net>',
  'To: "Support, Team" <support+42@example.test>, b@example.net',
  'Cc: First <first@example.net>',
  'Reply-To: Zoe <answers@example.net>, c@example.net',
  'Subject: =?utf-8?b?w5xiZXI=?= 42',
  'Date: Mon, 5 Jan 2026 10:00:00 +0100',
  'Message-ID: <1@example.net>',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Grüße 👋',
  '',
  '> Hello',
  '--b',
  'Content-Type: application/pdf; name="../r\u00e9sum\u00e9.pdf"',
  'Content-Disposition: attachment; filename="../résumé.pdf"',
  'Content-ID: <one@example.net>',
  'Content-Transfer-Encoding: base64',
  '',
  PDF.toString('base64'),
  '--b',
  'Content-Type: text/plain',
  'Content-Disposition: attachment',
  '',
  'two',
  '--b--',
  '',
].join('\r\n');

/** A service whose vault forgets on request, and a webhook in the format of Postmark. */
const open = async (answer?: (count: number) => Answer) => {
  const vault = createInMemoryContents();
  let removed: StoredBody | null = null;
  const contents: typeof vault = {
    ...vault,
    get: async (ids) => (removed === null ? vault.get(ids) : new Map(ids.map((id) => [id, removed as StoredBody]))),
  };
  const outbox = closedAfterTest(await openService({ contents }));
  const endpoint = await receiver((_post, count) => answer?.(count) ?? { status: 204 });
  outbox.workers().start();
  const { organizationId, context } = outbox;
  const origin: Origin = {
    ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
  };
  const { webhook } = await registerWebhook(context, origin, {
    ...{ url: endpoint.url, events: ['inbound.received'], environment, description: null, format: 'postmark_inbound' },
  });
  const { references: _r, hops: _h, isAutomatic: _a, ...read } = readInbound({ raw: Buffer.from(RAW), isPlain: false });
  return {
    ...{ outbox, endpoint },
    receive: (more: Partial<ReceivedMail> = {}) =>
      receive(context, { organizationId, environment, domainId: 'dom_1', to: TO, raw: RAW, body: read, ...more }),
    remove: () => {
      removed = { kind: 'expired', at: '2026-01-01T00:00:00.000Z' };
    },
    ping: () => pingWebhook(context, origin, { webhookId: webhook.webhookId, environment }),
    eventOf: async (id: string) => {
      const [recorded] = await context.store.readStream(inboundStream(id));
      const [event] = recorded === undefined ? [] : customerEvents(recorded);
      if (event === undefined) throw new Error('the mail has no event');
      return event;
    },
  };
};

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
  const serialize = createPostmarkInbound({
    ...outbox.context,
    mailParser: { parseLeniently: async (raw) => parseMailLeniently(Buffer.concat(raw)) },
  });
  const body = await serialize(event, false);
  expect(body).toMatchObject({ From: '', OriginalRecipient: '', Outbox: { contents: 'hidden' } });
  expect(JSON.stringify(body)).not.toContain('example.');
});

test('makes only as many bodies at the same time as fit in memory, and none that would be late', async () => {
  const { receive, eventOf } = await open();
  const event = await eventOf(await receive({ facts: { bytes: 9_000_000 } }));
  let made = 0;
  const bodyOf = createMailBody({
    serializeMail: async () => {
      made += 1;
      return { made };
    },
  });
  const { promise: posted, resolve: answer } = Promise.withResolvers<void>();
  let isLate = false;
  const post = (organizationId: string) =>
    bodyOf({ ...event, organizationId }, true)(
      () => isLate,
      (body) => posted.then(() => body),
    );
  const posts = [post('org_a'), post('org_a'), post('org_b'), post('org_c')];
  await until(() => expect(made).toBe(2));
  isLate = true;
  answer();
  expect(await Promise.all(posts)).toEqual(['{"made":1}', null, '{"made":2}', null]);
  expect(made).toBe(2);
});
