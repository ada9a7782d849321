import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { readInbound } from '../../../src/adapters/inbound/read-inbound.ts';
import { readAttachmentLink } from '../../../src/domain/inbound/attachment-link.ts';
import { eventSchema } from '../../../src/http/resources/events/event.ts';
import { until } from '../delivering.ts';
import { openMailWebhook, PDF, RAW, TO } from './mail-webhook.ts';

const open = (answer?: Parameters<typeof openMailWebhook>[1]) => openMailWebhook(undefined, answer);
const { references: _r, hops: _h, isAutomatic: _a, ...READ } = readInbound({ raw: Buffer.from(RAW), isPlain: false });

test('posts the event with the whole mail, signed', async () => {
  const { endpoint, receive, secret } = await open();
  const id = await receive({ facts: { inReplyToMessageId: 'msg_1' } });
  await until(() => expect(endpoint.posts).toHaveLength(1));
  const { json, body, headers } = endpoint.posts[0] ?? { json: null, body: '', headers: {} };
  expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
  expect(headers['content-type']).toBe('application/json');
  expect(eventSchema.parse(json)).toEqual(json);
  expect(json).toMatchObject({
    ...{ object: 'event', type: 'inbound.received', environment: 'live' },
    data: {
      ...{ inbound_id: id, domain_id: 'dom_1', envelope: { to: TO }, in_reply_to_message_id: 'msg_1' },
      ...{ contents: 'included', left_out: [], problems: [], subject: 'Über 42', html: null, sanitized_html: null },
      ...{
        text: expect.stringMatching(/^Grüße 👋\s+> Hello/),
        reply: 'Grüße 👋',
        internet_message_id: '<1@example.net>',
      },
      ...{ from: [{ address: 'zoe+a@example.net', name: 'Zoë "Z"' }], cc: [{ address: 'first@example.net' }] },
      headers: expect.arrayContaining([{ name: 'Subject', value: 'Über 42' }]),
      verdicts: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' },
      attachments: [
        {
          filename: 'résumé.pdf',
          content_type: 'application/pdf',
          size_bytes: PDF.length,
          content_id: 'one@example.net',
        },
        { filename: null, content_type: 'text/plain', size_bytes: 3, content_id: null },
      ],
    },
  });
  const posted = json?.data.attachments as readonly { url: string }[];
  const links = posted.map(({ url }) => new URL(url));
  expect(links.map(({ origin }) => origin)).toEqual(Array(2).fill('https://mail.example.test'));
  expect(links.map(({ pathname }) => readAttachmentLink(pathname.split('/')[2] ?? ''))).toMatchObject([
    { inboundId: id, part: 0 },
    { inboundId: id, part: 1 },
  ]);
});

test('posts nulls and the reason once the contents were removed', async () => {
  const { endpoint, outbox, receive, remove } = await open((count) => ({ status: count < 2 ? 500 : 204 }));
  await receive();
  await until(() => expect(endpoint.posts).toHaveLength(1));
  remove();
  await until(() => {
    outbox.system.shift(60_000);
    expect(endpoint.posts).toHaveLength(2);
  });
  const { json, body } = endpoint.posts[1] ?? { json: null, body: '' };
  expect(eventSchema.parse(json)).toEqual(json);
  expect(json?.data).toMatchObject({
    ...{
      contents: 'removed',
      envelope: null,
      from: [],
      to: [],
      subject: null,
      text: null,
      reply: null,
      internet_message_id: null,
    },
    ...{ headers: [], attachments: [], left_out: [] },
  });
  expect(body).not.toContain('example.net');
});

test.each([
  ['text', { text: 'x'.repeat(256_001) }],
  ['html', { html: 'x'.repeat(256_001) }],
  ['sanitized_html', { sanitizedHtml: 'x'.repeat(256_001) }],
  ['headers', { headers: Array.from({ length: 26 }, () => ({ name: 'X', value: 'x'.repeat(10_000) })) }],
])('leaves out a %s that is too large, and says so', async (name, large) => {
  const { endpoint, receive } = await open();
  await receive({ body: { ...READ, text: 'x'.repeat(256_000), ...large } });
  await until(() => expect(endpoint.posts).toHaveLength(1));
  const { json, body } = endpoint.posts[0] ?? { json: null, body: '' };
  expect(json?.data.left_out).toEqual([name]);
  expect(json?.data[name]).toEqual(name === 'headers' ? [] : null);
  expect(body.length).toBeLessThan(300_000);
});
