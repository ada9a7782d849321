import { Readable } from 'node:stream';
import { beforeAll, describe, expect, test } from 'vitest';
import { VENDORS, vendorError } from '../../../src/http/compat/vendors.ts';
import { createBodyBudget, SMALL_BODY_BYTES_MAX } from '../../../src/lib/http/http.ts';
import { startService } from '../support/service.ts';
import { formOf, MAILGUN, RESEND, useTenant } from './tenant.ts';

/** Forms as programs write them, and hostile ones. The end-to-end test covers the published client. */

const bodies = createBodyBudget();
let reserved: number[] = [];
const { now, ask, accepted } = useTenant(() =>
  startService({
    bodies: {
      ...bodies,
      reserveNow: (organizationId, bytes) => {
        reserved.push(bytes);
        return bodies.reserveNow(organizationId, bytes);
      },
    },
  }),
);

const PATH = '/v3/a.test/messages';

const fieldsOf = (more: Readonly<Record<string, string>> = {}): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...MAILGUN, ...more })) form.append(name, value);
  return form;
};

const post = async (form: FormData | URLSearchParams, headers: Readonly<Record<string, string>> = {}) => {
  const written = await formOf(form);
  return ask('mailgun', 'POST', PATH, { payload: written.payload, headers: { ...written.headers, ...headers } });
};

/** A raw multipart body. */
const raw = (parts: readonly string[], boundary = 'boundary-of-at-least-27-characters') =>
  ask('mailgun', 'POST', PATH, {
    payload: Buffer.from(
      `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`,
      'latin1',
    ),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  });

const contentOf = async (id: string) => {
  const [, messageId] = /^<(msg_\w+)@a\.test>$/.exec(id) ?? [];
  return (await now.service.request({ url: `/v1/messages/${messageId}/content`, key: now.key })).json();
};

/** Fields that the documents for migrating require. A form is in no OpenAPI document. */
const REQUIRED: Readonly<Record<keyof typeof MAILGUN, readonly string[]>> = {
  from: ['from is required'],
  to: ['to is required'],
  subject: ['subject is required'],
  text: ['html or text is required'],
};

describe('a form', () => {
  test.each(Object.entries(REQUIRED))('without %s is refused with the name of the field', async (name, problems) => {
    const form = fieldsOf();
    form.delete(name);
    const { status, body } = await post(form);
    expect(status).toBe(400);
    expect(problems.filter((one) => !String(body.message).includes(one))).toEqual([]);
  });

  test('has memory for itself and for what is read from it', async () => {
    const form = fieldsOf();
    form.append('attachment', new Blob(['x'.repeat(500_000)]), 'a.txt');
    const { payload, headers } = await formOf(form);
    const bytes = (payload as Buffer).length;
    reserved = [];
    expect((await ask('mailgun', 'POST', PATH, { payload, headers })).status).toBe(200);
    expect(reserved).toEqual([2 * bytes]);
    // Without an announced length: some, then the most that a small body may have, then the most that a form may have.
    reserved = [];
    const pieces = Array.from({ length: 40 }, (_, index) =>
      (payload as Buffer).subarray((index * bytes) / 40, ((index + 1) * bytes) / 40),
    );
    const authorization = `Basic ${Buffer.from(`api:${now.key}`).toString('base64')}`;
    const sent = await now.service.server.inject({
      method: 'POST',
      url: `/compat/mailgun${PATH}`,
      headers: { authorization, ...headers },
      payload: Readable.from(pieces),
    });
    expect(sent.statusCode).toBe(200);
    expect(reserved.slice(1)).toEqual([SMALL_BODY_BYTES_MAX, 40_000_000]);
    expect(bodies.held()).toBe(0);
    reserved = [];
    const json = JSON.stringify({ ...RESEND, html: 'x'.repeat(1_000) });
    expect((await ask('resend', 'POST', '/emails', { payload: json })).status).toBe(200);
    expect(reserved).toEqual([json.length]);
  });

  test('is a message, with files, repeated fields, headers and metadata', async () => {
    const form = fieldsOf({
      from: 'Shop <a@a.test>',
      to: 'b@example.org, "C, c" <c@example.org>',
      html: '<p>Hello <img src="cid:logo.png" alt="Logo"></p>',
      'h:Reply-To': 'Help <help@a.test>',
      'h:X-Order': '1234',
      'h:Message-ID': '<x@evil.test>',
      'v:order': '1234',
      'o:tracking': 'no',
      'o:tracking-opens': 'yes',
      'o:deliverytime': new Date(Date.now() + 3_600_000).toUTCString(),
    });
    form.append('to', 'd@example.org');
    form.append('o:tag', 'one');
    form.append('o:tag', 'two');
    form.append('attachment', new File([Buffer.from([0, 255, 13, 10])], 'a.bin', { type: 'application/x-a' }));
    form.append('inline', new File(['<svg/>'], 'logo.png', { type: 'image/png' }));
    const { status, body } = await post(form);
    expect([status, body.message]).toEqual([200, 'Queued. Thank you.']);
    const [, id] = /<(\w+)@/.exec(body.id) ?? [];
    const shown = (await now.service.request({ url: `/v1/messages/${id}`, key: now.key })).json();
    expect(shown).toMatchObject({
      status: 'scheduled',
      tracking: { opens: true, clicks: false },
      tags: [
        { name: 'tag', value: 'one' },
        { name: 'tag', value: 'two' },
      ],
      metadata: { order: '1234' },
    });
    const content = await contentOf(body.id);
    expect(content).toMatchObject({
      headers: { 'X-Order': '1234' },
      reply_to: [expect.stringContaining('help@a.test')],
    });
    expect(shown.recipients.map(({ address }: { address: string }) => address)).toEqual([
      'b@example.org',
      'c@example.org',
      'd@example.org',
    ]);
    expect(content.attachments).toMatchObject([
      { filename: 'a.bin', content_type: 'application/x-a' },
      { filename: 'logo.png', content_type: 'image/png', content_id: 'logo.png' },
    ]);
  });

  test('can be urlencoded', async () => {
    expect((await post(new URLSearchParams(MAILGUN))).status).toBe(200);
    expect((await post(new URLSearchParams({ ...MAILGUN, to: '' }))).status).toBe(400);
  });

  test('replays with an idempotency key, and is refused with other files', async () => {
    const headers = { 'idempotency-key': 'form' };
    const formWith = (text: string): FormData => {
      const form = fieldsOf();
      form.append('attachment', new File([text], 'a.txt'));
      return form;
    };
    const first = await post(formWith('one'), headers);
    const before = await accepted();
    const again = await post(formWith('one'), headers);
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true']);
    expect((await post(formWith('two'), headers)).status).toBe(400);
    expect(await accepted()).toBe(before);
  });

  test('names the fields of the program in errors', async () => {
    const said = async (more: Readonly<Record<string, string>>) => (await post(fieldsOf(more))).body.message;
    expect(await said({ to: 'nobody' })).toMatch(/^to /);
    expect(await said({ 'h:Reply-To': 'nobody' })).toMatch(/^h:Reply-To /);
    expect(await said({ 'h:Bcc': 'x@y.test' })).toMatch(/^h:Bcc /);
    expect(await said({ 'v:a': 'x'.repeat(70_000) })).toMatch(/^v:a /);
    expect(await said({ 'o:tracking': 'maybe' })).toBe('o:tracking must be yes, no or htmlonly');
    expect(await said({ 'o:deliverytime': 'Mon, 01 Jan 2001 00:00:00 +0000' })).toMatch(/^o:deliverytime /);
    expect(await said({ 't:variables': '[1]' })).toMatch(/t:variables must be an object as JSON/);
    expect(await said({ attachment: 'text' })).toMatch(/^attachment must be a file/);
    expect(await said({ 'o:unknown': 'x', toString: 'x' })).toBe(
      'o:unknown is not a known field; toString is not a known field',
    );
    const form = fieldsOf();
    form.set('subject', new File(['x'], 'x'));
    form.append('attachment', new File(['x'], 'x\u0000y.txt'));
    expect((await post(form)).body.message).toMatch(/subject must.*attachment /);
  });
});

describe('hostile forms', () => {
  const HEAD = 'Content-Disposition: form-data; name=';

  test('with control characters in names and file names send nothing', async () => {
    const before = await accepted();
    const good = Object.entries(MAILGUN).map(([name, value]) => `${HEAD}"${name}"\r\n\r\n${value}`);
    for (const part of [
      `${HEAD}"h:X-A%0D%0ABcc: x@y.test"\r\n\r\nx`,
      `${HEAD}"h:X-A\0"\r\n\r\nx`,
      `${HEAD}"h:__proto__"\r\n\r\nx`,
      `${HEAD}"v:__proto__"\r\n\r\nx`,
      `${HEAD}"__proto__"\r\n\r\nx`,
      `${HEAD}"constructor"\r\n\r\nx`,
      `${HEAD}"attachment"; filename="a%0D%0Ab.txt"\r\n\r\nx`,
      `${HEAD}"attachment"; filename="a\0b.txt"\r\n\r\nx`,
      `${HEAD}"attachment"; filename=""\r\n\r\nx`,
      `${HEAD}"attachment"; filename="a.txt"\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\nx`,
      `${HEAD}"subject\r\n\r\nx`,
      'Content-Type: text/plain\r\n\r\nx',
    ]) {
      const { status, body } = await raw([...good, part]);
      expect([part, status]).toEqual([part, 400]);
      expect(body.message).not.toBe('');
    }
    expect(await accepted()).toBe(before);
  });

  test('with too many fields are refused before they are parsed', async () => {
    const many = new URLSearchParams(
      Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`v:${index}`, 'x'])),
    );
    expect((await post(many)).body.message).toBe('the form must have at most 1000 fields');
    const parts = Array.from({ length: 10_000 }, (_, index) => `${HEAD}"v:${index}"\r\n\r\nx`);
    expect((await raw(parts)).body.message).toBe('the form must have at most 1000 fields');
  });

  test('that are too large are refused, with and without files', async () => {
    const before = await accepted();
    const ten = await post(fieldsOf({ text: 'x'.repeat(10_000_000) }));
    expect([ten.status, ten.body.message]).toEqual([413, 'the body without its files is larger than 8000000 bytes']);
    const form = fieldsOf();
    form.append('attachment', new File(['x'.repeat(21_000_000)], 'a.txt'));
    expect((await post(form)).status).toBe(413);
    expect(await accepted()).toBe(before);
  });

  test('that are broken are refused', async () => {
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=x', 'multipart/form-data; boundary=']) {
      const answer = await ask('mailgun', 'POST', PATH, { payload: 'x', headers: { 'content-type': type } });
      expect([type, answer.status, answer.body.message]).toEqual([type, 400, expect.stringContaining('malformed')]);
    }
    expect((await ask('mailgun', 'POST', PATH, { payload: '' })).status).toBe(400);
  });

  test('are accepted by no other route', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await ask('resend', 'POST', '/emails', { payload: 'from=x', headers });
    expect([answer.status, answer.body.message]).toEqual([415, 'the body must be application/json']);
    const other = await ask('mailgun', 'PUT', '/v4/domains/a.test/verify', { payload: 'from=x', headers });
    expect([other.status, other.body.message]).toEqual([400, 'from is not a known field']);
  });
});

describe('the key', () => {
  const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;

  test('is the password of the user api', async () => {
    const status = async (authorization: string) => {
      const { payload, headers } = await formOf(fieldsOf());
      const answer = await ask('mailgun', 'POST', PATH, { payload, headers: { ...headers, authorization } });
      expect(answer.headers['www-authenticate']).toBe(answer.status === 401 ? 'Basic realm="Outbox"' : undefined);
      return answer.status;
    };
    expect(await status(basic(`api:${now.key}`))).toBe(200);
    for (const wrong of [
      `Bearer ${now.key}`,
      basic(now.key),
      basic(`key:${now.key}`),
      basic(`api:${now.key}x`),
      basic(`api:${now.key}\r\n`),
      'Basic ',
      'Basic !!!',
      '',
    ])
      expect([wrong, await status(wrong)]).toEqual([wrong, 401]);
  });

  describe('of another domain', () => {
    let other: string;
    let theirs: string;
    beforeAll(async () => {
      const domain = await now.service.makeDomain(now.organizationId, 'b.test');
      other = (await now.service.makeKey(now.organizationId, domain)).value;
      const organization = await now.service.makeOrganization();
      theirs = (await now.service.makeKey(organization, await now.service.makeDomain(organization, 'c.test'))).value;
    });

    test('sends nothing, and sees no domain of another organization', async () => {
      const before = await accepted();
      const refused = await ask('mailgun', 'POST', PATH, { by: other, payload: MAILGUN });
      expect([refused.status, refused.body.message]).toEqual([403, 'this API key sends from b.test, not from a.test']);
      const unknown = await ask('mailgun', 'POST', PATH, { by: theirs, payload: MAILGUN });
      expect([unknown.status, unknown.body.message]).toEqual([404, 'Domain not found: a.test']);
      for (const path of [
        '/v4/domains/a.test',
        '/v3/a.test/bounces',
        '/v3/a.test/events',
        '/v3/a.test/bounces/x@y.test',
      ])
        expect([path, (await ask('mailgun', 'GET', path, { by: theirs })).status]).toEqual([path, 404]);
      expect(await accepted()).toBe(before);
    });
  });
});

test.each(VENDORS)('%s answers a used quota with a sentence', (vendor) => {
  const message = "the plan 'free' allows 30 recipients per month, and 30 are used: choose another plan";
  const details = { quota: ['plan free', 'limit 30', 'used 30'] };
  const error = { code: 'quota_exceeded', message, details, request_id: 'req_x' } as const;
  const text = JSON.stringify(vendorError(vendor, { error }).body);
  expect(text).toContain(message);
  expect(text).not.toContain('limit 30');
});

test.each(['v3', 'v4'])('%s verifies a domain', async (version) => {
  const answer = await ask('mailgun', 'PUT', `/${version}/domains/a.test/verify`);
  expect([answer.status, answer.body.domain?.name]).toEqual([200, 'a.test']);
});
