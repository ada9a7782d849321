import { createHmac, createPublicKey, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { readInbound } from '../../../src/adapters/inbound/read-inbound.ts';
import { verificationKeyOf } from '../../../src/domain/webhook/sendgrid.ts';
import { until } from '../delivering.ts';
import { openMailWebhook, PDF, TO } from './mail-webhook.ts';
import type { ReceivedPost } from './receiver.ts';

const open = (answer?: Parameters<typeof openMailWebhook>[1]) => openMailWebhook('sendgrid_inbound', answer);

/** Parses the form as a receiver does. */
const formOf = ({ bytes, headers }: ReceivedPost): Promise<FormData> =>
  new Response(new Uint8Array(bytes), { headers: { 'content-type': headers['content-type'] ?? '' } }).formData();

const textsIn = (form: FormData): Record<string, string> =>
  Object.fromEntries([...form].filter((field): field is [string, string] => typeof field[1] === 'string'));

const posted = async (posts: readonly ReceivedPost[], at = 0): Promise<ReceivedPost> => {
  await until(() => expect(posts.length).toBeGreaterThan(at));
  return posts[at] as ReceivedPost;
};

test('posts the whole mail as the form of Inbound Parse', async () => {
  const { endpoint, receive } = await open();
  const id = await receive();
  const form = await formOf(await posted(endpoint.posts));
  const { headers, outbox, ...texts } = textsIn(form);
  expect(texts).toEqual({
    ...{ dkim: 'pass', SPF: 'pass', subject: 'Über 42', attachments: '2' },
    to: '"Support, Team" <support+42@example.test>, b@example.net',
    cc: '"First" <first@example.net>',
    from: '"Zoë \\"Z\\"" <zoe+a@example.net>',
    text: expect.stringMatching(/^Grüße 👋\s+> Hello/),
    envelope: JSON.stringify({ to: [TO], from: 'ann@example.net' }),
    charsets: '{"to":"UTF-8","cc":"UTF-8","from":"UTF-8","subject":"UTF-8","text":"UTF-8"}',
    'attachment-info': JSON.stringify({
      attachment1: {
        ...{ filename: 'résumé.pdf', name: 'résumé.pdf', type: 'application/pdf', 'content-id': 'one@example.net' },
      },
      attachment2: { filename: 'attachment2', name: 'attachment2', type: 'text/plain' },
    }),
    'content-ids': '{"one@example.net":"attachment1"}',
  });
  expect(headers).toContain('Subject: Über 42\n');
  expect(JSON.parse(outbox ?? '')).toMatchObject({ id, contents: 'included', attachments_left_out: 0 });
  const file = form.get('attachment1') as File;
  expect([file.name, file.type]).toEqual(['résumé.pdf', 'application/pdf']);
  expect(Buffer.from(await file.arrayBuffer())).toEqual(PDF);
});

test('signs the bytes for both verifiers, and posts the same bytes again', async () => {
  const { endpoint, outbox, receive, secret } = await open((count) => ({ status: count < 2 ? 500 : 204 }));
  await receive();
  const first = await posted(endpoint.posts);
  await until(() => {
    outbox.system.shift(60_000);
    expect(endpoint.posts).toHaveLength(2);
  });
  expect(endpoint.posts[1]?.bytes).toEqual(first.bytes);
  expect(first.bytes.toString('utf8')).toContain('�'); // not text
  const headers = first.headers as Record<string, string>;
  const signature = Buffer.from(headers['x-twilio-email-event-webhook-signature'] ?? '', 'base64');
  const timestamp = Buffer.from(headers['x-twilio-email-event-webhook-timestamp'] ?? '');
  const key = createPublicKey({ key: Buffer.from(verificationKeyOf(secret), 'base64'), format: 'der', type: 'spki' });
  expect(verify('sha256', Buffer.concat([timestamp, first.bytes]), key, signature)).toBe(true);
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`;
  const mac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64')).update(signed);
  expect(headers['webhook-signature']).toBe(`v1,${mac.update(first.bytes).digest('base64')}`);
});

test('names and types of attachments cannot add fields or headers', async () => {
  const { endpoint, receive } = await open();
  const names = ['a"; name="admin', 'b\r\nX-Evil: 1\r\n\r\n--', 'c\\"\0', '%22', 'd\u2028ü'];
  const raw = [
    ...['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b', ''],
    ...names.flatMap(() => ['--b', 'Content-Disposition: attachment', '', 'x']),
    '--b--',
  ].join('\r\n');
  const { references: _r, hops: _h, isAutomatic: _a, ...read } = readInbound({ raw: Buffer.from(raw), isPlain: false });
  const attachments = read.attachments.map((one, index) => ({
    ...{ ...one, filename: names[index] ?? null },
    contentType: index === 0 ? 'text/html\r\nX-Evil: 1' : 'image/png',
  }));
  const headers = [{ name: 'Subject', value: 'a\r\nFrom: forged@example.net' }];
  await receive({ raw, body: { ...read, headers, attachments } });
  const { bytes, ...post } = await posted(endpoint.posts);
  const form = await formOf({ bytes, ...post });
  expect(form.get('headers')).toBe('Subject: a From: forged@example.net\n');
  const files = [...form].flatMap(([name, value]) =>
    typeof value === 'string' ? [] : [[name, value.type, value.size]],
  );
  expect(files).toEqual(
    names.map((_, index) => [`attachment${index + 1}`, index === 0 ? 'application/octet-stream' : 'image/png', 1]),
  );
  expect([...form.keys()].filter((name) => name === 'admin')).toEqual([]);
  expect(bytes.toString()).not.toMatch(/^X-Evil/m);
});

test('posts empty fields once the contents were removed, and the event of a ping', async () => {
  const { endpoint, outbox, receive, remove, ping } = await open((count) => ({ status: count < 2 ? 500 : 204 }));
  const id = await receive();
  await posted(endpoint.posts);
  remove();
  await until(() => {
    outbox.system.shift(60_000);
    expect(endpoint.posts).toHaveLength(2);
  });
  const form = textsIn(await formOf(await posted(endpoint.posts, 1)));
  expect(form).toMatchObject({
    to: '',
    from: '',
    subject: '',
    headers: '',
    attachments: '0',
    envelope: '{"to":[],"from":""}',
  });
  expect(JSON.parse(form.outbox ?? '')).toMatchObject({ id, contents: 'removed' });
  await ping();
  const pinged = await posted(endpoint.posts, 2);
  expect([pinged.headers['content-type'], pinged.json.type]).toEqual(['application/json', 'webhook.ping']);
});
