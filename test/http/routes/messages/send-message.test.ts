import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createInMemoryResolver } from '../../../support/in-memory/dns.ts';
import { type Service, startService } from '../../support/service.ts';

let service: Service;
let organizationId: string;
let domainId: string;
let key: string;

beforeAll(async () => {
  service = await startService();
  organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['send', 'read'] })).value;
});
afterAll(() => service.close());

const VALID = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', html: '<p>Hello</p>' };

const SEND = { method: 'POST', url: '/v1/messages/send' } as const;
const send = (payload: object | string, headers: Record<string, string> = {}) =>
  service.request({ ...SEND, key, payload, headers: { 'content-type': 'application/json', ...headers } });

const detailsOf = async (payload: object): Promise<Record<string, string[]>> => {
  const answer = await send(payload);
  expect(answer.statusCode).toBe(400);
  return answer.json().error.details;
};

describe('POST /v1/messages/send', () => {
  test('answers 202 with the message and its recipients, which can be read at once', async () => {
    const answer = await send({
      ...VALID,
      from: 'Ann Example <a@EXAMPLE.test>',
      to: ['b@example.org', 'Cee <c@example.org>'],
      cc: 'd@example.org',
      bcc: ['e@example.org'],
      reply_to: 'Desk <desk@example.org>',
      headers: { 'X-Campaign': 'spring', References: '<1@example.org>' },
      tags: [{ name: 'kind', value: 'receipt' }],
      metadata: { order: '17' },
      attachments: [{ filename: 'a.txt', content: 'aGVsbG8=' }],
    });
    expect(answer.statusCode).toBe(202);
    const sent = answer.json();
    expect(sent).toMatchObject({ object: 'message', status: 'accepted', environment: 'live' });
    expect(sent.message_id).toBe(`<${sent.id}@example.test>`);
    expect(sent.recipients.map((one: { address: string; kind: string }) => [one.address, one.kind])).toEqual([
      ['b@example.org', 'to'],
      ['c@example.org', 'to'],
      ['d@example.org', 'cc'],
      ['e@example.org', 'bcc'],
    ]);
    const read = await service.request({ url: `/v1/messages/${sent.id}`, key });
    expect(read.headers.etag).toBe('"0"');
    expect(read.json()).toMatchObject({
      id: sent.id,
      subject: 'Hello',
      from: 'a@example.test',
      metadata: { order: '17' },
      tags: [{ name: 'kind', value: 'receipt' }],
    });
    const content = await service.request({ url: `/v1/messages/${sent.id}/content`, key });
    expect(content.json()).toMatchObject({
      html: '<p>Hello</p>',
      from_name: 'Ann Example',
      reply_to: ['desk@example.org'],
      headers: { 'X-Campaign': 'spring', References: '<1@example.org>' },
      attachments: [{ filename: 'a.txt', content_type: 'text/plain', content: 'aGVsbG8=' }],
    });
  });

  test('names everything that is wrong at once', async () => {
    const details = await detailsOf({
      to: ['b@example.org', 'nobody', 5],
      subject: 'a\r\nBcc: x@example.org',
      html: '<div>\n<p>x</div></b>',
      layout: { id: 'x' },
      scheduled_at: 'tomorrow',
      headers: { Bcc: 'x', 'X A': 'x', 'X-B': 'a\nb' },
      ttl_seconds: 1.5,
    });
    expect(details).toEqual({
      from: ['from is required'],
      to: ['to[1] is not an email address: it has no @', 'to[2] must be a string'],
      subject: ['subject must not contain line breaks or control characters'],
      headers: [
        'headers.X-B must not contain line breaks or control characters',
        'headers.Bcc is not allowed: the service writes this header',
        'headers.X A is not a header name',
      ],
      ttl_seconds: ['ttl_seconds must be an integer'],
      layout: ['layout is not a known field'],
      scheduled_at: ['scheduled_at must be a time in ISO 8601 with its zone, 2026-01-31T12:00:00Z'],
      html: ['html must be valid HTML: line 2, column 11: unexpected end tag </b>'],
    });
  });

  test('says what is required when nothing is given', async () => {
    const required = ['from', 'to', 'subject'].map((field) => [field, [`${field} is required`]]);
    expect(await detailsOf({})).toEqual({ ...Object.fromEntries(required), html: ['html or text is required'] });
    const nothing = await service.request({ method: 'POST', url: '/v1/messages/send', key });
    expect(nothing.json().error.details.to).toEqual(['to is required']);
  });

  test('gives broken HTML a code of its own when nothing else is wrong', async () => {
    const answer = await send({ ...VALID, html: '<div><b>x</div>' });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.code).toBe('invalid_html');
    expect(answer.json().error.details.html[0]).toMatch(/^html must be valid HTML: line 1, column \d+: /);
  });

  const hostile = (text: string): readonly (readonly [string, object])[] => [
    ['from', { from: `A${text} <a@example.test>` }],
    ['to', { to: `b@example.org${text}c` }],
    ['cc', { cc: [`${text}b@example.org`] }],
    ['reply_to', { reply_to: `X${text}Y <b@example.org>` }],
    ['subject', { subject: `a${text}b` }],
    ['headers', { headers: { 'X-A': `a${text}b` } }],
    ['headers', { headers: { [`X-A${text}`]: 'a' } }],
    ['attachments', { attachments: [{ filename: `a${text}b`, content: '' }] }],
    ['attachments', { attachments: [{ filename: 'a', content: '', content_type: `a/b${text}c` }] }],
    ['attachments', { attachments: [{ filename: 'a', content: '', content_id: `a${text}b` }] }],
    ['tags', { tags: [{ name: `a${text}b`, value: 'x' }] }],
    ['metadata', { metadata: { a: `a${text}b` } }],
  ];
  test.each([...hostile('\r\n'), ...hostile('\n'), ...hostile('\r'), ...hostile('\0')])(
    'allows no line break or NUL in %s: %j',
    async (field, fields) => {
      expect(Object.keys(await detailsOf({ ...VALID, ...fields }))).toEqual([field]);
    },
  );

  test.each([
    ['51 recipients', { to: Array.from({ length: 51 }, (_, index) => `b${index}@example.org`) }, 'to'],
    ['no recipient', { to: [] }, 'to'],
    ['11 tags', { tags: Array.from({ length: 11 }, () => ({ name: 'a', value: 'b' })) }, 'tags'],
    ['metadata over 10 kB', { metadata: { a: 'x'.repeat(9_990), b: 'y'.repeat(20) } }, 'metadata'],
    ['metadata that is no text', { metadata: { a: { b: 1 } } }, 'metadata'],
    ['a subject of 999 characters', { subject: 'x'.repeat(999) }, 'subject'],
    ['an attachment that is not base64', { attachments: [{ filename: 'a', content: 'a-b_' }] }, 'attachments'],
    ['half a character', { subject: 'a\ud83d' }, 'subject'],
    ['another stream', { stream: 'other' }, 'stream'],
    ['html that is a number', { html: 5 }, 'html'],
  ])('refuses %s', async (_what, fields, field) => {
    expect(Object.keys(await detailsOf({ ...VALID, ...fields }))).toEqual([field]);
  });

  test('refuses an address on another domain with 403, and a test key is bound to its domain too', async () => {
    const answer = await send({ ...VALID, from: 'a@other.test' });
    expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'from_domain_mismatch']);
  });

  test('accepts only text, and a message of test keys without proof of the domain', async () => {
    const { html: _, ...rest } = VALID;
    expect((await send({ ...rest, text: 'Hello' })).statusCode).toBe(202);
  });
});

describe('a domain that is not verified', () => {
  test('sends nothing live and everything simulated; once verified it sends at once', async () => {
    let published: readonly { readonly name: string; readonly value: string }[] = [];
    const txt = (host: string) => published.flatMap(({ name, value }) => (name === host ? [value] : []));
    const strict = await startService({
      context: { capturing: false, resolver: createInMemoryResolver({ txt }) },
    });
    const organization = await strict.makeOrganization();
    const domain = await strict.makeDomain(organization, 'example.test');
    const live = await strict.makeKey(organization, domain);
    const simulated = await strict.makeKey(organization, domain, { environment: 'test' });
    const post = (value: string, url: string, payload?: object) =>
      strict.request({ method: 'POST', url, key: value, ...(payload === undefined ? {} : { payload }) });
    const refused = await post(live.value, '/v1/messages/send', VALID);
    expect([refused.statusCode, refused.json().error.code]).toEqual([422, 'domain_not_verified']);
    expect((await post(simulated.value, '/v1/messages/send', VALID)).statusCode).toBe(202);
    const pending = await post(live.value, `/v1/domains/${domain}/verify`);
    expect(pending.json()).toMatchObject({ status: 'pending', verification: null });
    published = pending.json().records;
    const verified = await post(live.value, `/v1/domains/${domain}/verify`);
    expect(verified.json()).toMatchObject({ status: 'verified', verification: { method: 'dns' } });
    expect((await post(live.value, '/v1/messages/send', VALID)).statusCode).toBe(202);
    await strict.close();
  });
});

describe('an Idempotency-Key', () => {
  const once = (name: string, payload: object = VALID) => send(payload, { 'idempotency-key': name });
  const count = async (): Promise<number> =>
    (await service.deps.context.store.readAll({ filter: { categories: ['message'] }, limit: 10_000 })).events.length;

  test('makes 20 equal requests at once one message, and every response the same', async () => {
    const before = await count();
    const answers = await Promise.all(Array.from({ length: 20 }, () => once('twenty')));
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(19);
    expect(await count()).toBe(before + 1);
  });

  test('replays when the same JSON is written in another order', async () => {
    const { from, to, ...rest } = VALID;
    const first = await once('order', { from, to, ...rest });
    const second = await once('order', { ...rest, to, from });
    expect(second.json()).toEqual(first.json());
    expect(second.headers['idempotent-replayed']).toBe('true');
  });

  test('is refused with 422 for another body', async () => {
    await once('reused');
    const answer = await once('reused', { ...VALID, subject: 'Other' });
    expect([answer.statusCode, answer.json().error.code]).toEqual([422, 'idempotency_key_reused']);
  });

  test('is not used up by a refused request', async () => {
    expect((await once('refused', { ...VALID, to: 'x' })).statusCode).toBe(400);
    const answer = await once('refused');
    expect(answer.statusCode).toBe(202);
    expect(answer.headers['idempotent-replayed']).toBeUndefined();
  });

  test('belongs to the organization: another key of it replays, the other environment does not', async () => {
    const first = await once('shared');
    const other = await service.makeKey(organizationId, domainId);
    const simulated = await service.makeKey(organizationId, domainId, { environment: 'test' });
    const headers = { 'idempotency-key': 'shared' };
    const as = (value: string) =>
      service.request({ method: 'POST', url: '/v1/messages/send', key: value, payload: VALID, headers });
    expect((await as(other.value)).json().id).toBe(first.json().id);
    expect((await as(simulated.value)).json().id).not.toBe(first.json().id);
  });

  test.each(['', 'x'.repeat(256), 'ümlaut', 'tab\there'])('is refused when it is malformed: %j', async (name) => {
    const answer = await once(name);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.details).toHaveProperty('Idempotency-Key');
  });

  test.each([
    ['/v1/messages/send', VALID],
    ['/v1/messages/batch', { messages: [VALID] }],
  ])('is refused by %s when it is repeated', async (url, payload) => {
    const headers = { 'idempotency-key': ['twice', 'twice'] };
    const answer = await service.request({ method: 'POST', url, key, payload, headers });
    expect(answer.json().error?.details).toEqual({ 'Idempotency-Key': ['Idempotency-Key must be sent only once'] });
  });
});
