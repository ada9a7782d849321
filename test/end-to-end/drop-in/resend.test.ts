import { randomUUID } from 'node:crypto';
import { Resend } from 'resend';
import { describe, expect, test, vi } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { addressesIn, filesOf, firstMail, HOUR_MS, inMs, PNG, useProgram } from './program.ts';

/** The published client, unmodified, against the program. Assertions read the delivered mail itself. */
const { now, arrived } = useProgram(['welcome']);

describe('resend', () => {
  const client = (by = now.key): Resend => new Resend(by, { baseUrl: `${now.baseUrl}/compat/resend` });

  test('can be configured with RESEND_BASE_URL too', async () => {
    vi.stubEnv('RESEND_BASE_URL', `${now.baseUrl}/compat/resend`);
    const subject = randomUUID();
    const { data: sent, error } = await new Resend(now.key).emails.send({
      from: 'shop@example.test',
      to: 'ann@example.net',
      subject,
      text: 'Hello',
    });
    expect([error, sent?.id]).toEqual([null, expect.stringMatching(/^msg_/)]);
    expect((await arrived(subject))[0]?.mail.text).toBe('Hello\n');
    vi.unstubAllEnvs();
  });

  test('sends every field of a message', async () => {
    const subject = randomUUID();
    const { data: sent, error } = await client().emails.send({
      from: '"Shop, the" <shop@example.test>',
      to: ['Ann <ann@example.net>', 'bob@example.org'],
      cc: 'carol@example.net',
      bcc: ['dave@example.org'],
      replyTo: 'help@example.test',
      subject,
      html: '<p>Hello <img src="cid:logo" alt="Logo"></p>',
      text: 'Hello',
      headers: { 'X-Order': '1234' },
      tags: [{ name: 'kind', value: 'receipt' }],
      attachments: [
        { filename: 'a.txt', content: Buffer.from('some text') },
        { filename: 'logo.png', content: PNG.toString('base64'), contentId: 'logo' },
        { filename: 'x', content: Buffer.from('{}').toString('base64'), contentType: 'application/json' },
      ],
    });
    expect(error).toBeNull();
    const copies = await arrived(subject);
    expect(copies.flatMap(({ to }) => to).sort()).toEqual([
      'ann@example.net',
      'bob@example.org',
      'carol@example.net',
      'dave@example.org',
    ]);
    const mail = firstMail(copies);
    expect(mail.from?.value).toEqual([{ name: 'Shop, the', address: 'shop@example.test' }]);
    expect(addressesIn(mail.to)).toEqual(['ann@example.net', 'bob@example.org']);
    expect([addressesIn(mail.cc), mail.bcc]).toEqual([['carol@example.net'], undefined]);
    expect(addressesIn(mail.replyTo)).toEqual(['help@example.test']);
    expect([mail.headers.get('x-order'), mail.text, mail.html]).toEqual([
      '1234',
      'Hello',
      expect.stringContaining('<p>Hello <img src="cid:logo" alt="Logo"></p>'),
    ]);
    expect(filesOf(mail)).toEqual([
      ['a.txt', 'text/plain', undefined, 'some text'],
      ['logo.png', 'image/png', 'logo', 'not really an image'],
      ['x', 'application/json', undefined, '{}'],
    ]);

    const { data: read } = await client().emails.get(sent?.id ?? '');
    expect(read).toMatchObject({
      object: 'email',
      id: sent?.id,
      message_id: mail.messageId,
      from: '"Shop, the" <shop@example.test>',
      to: ['ann@example.net', 'bob@example.org'],
      cc: ['carol@example.net'],
      bcc: ['dave@example.org'],
      reply_to: ['help@example.test'],
      subject,
      html: '<p>Hello <img src="cid:logo" alt="Logo"></p>',
      text: 'Hello',
      tags: [{ name: 'kind', value: 'receipt' }],
      scheduled_at: null,
      topic_id: null,
    });
    const { last_event } = await eventually(
      async () => (await client().emails.get(sent?.id ?? '')).data ?? { last_event: '' },
      (one) => one.last_event === 'delivered',
    );
    expect(last_event).toBe('delivered');
  });

  test('sends with a template by its alias', async () => {
    const name = randomUUID();
    const { error } = await client().emails.send({
      from: 'shop@example.test',
      to: 'ann@example.net',
      template: { id: 'welcome', variables: { name } },
    });
    expect(error).toBeNull();
    expect((await arrived(`Welcome ${name}`))[0]?.mail.html).toContain(`<p>Hello ${name}</p>`);
  });

  test('schedules, reschedules and cancels', async () => {
    const at = inMs(HOUR_MS).toISOString();
    const { data: sent } = await client().emails.send({
      from: 'shop@example.test',
      to: 'ann@example.net',
      subject: 'Later',
      text: 'Later',
      scheduledAt: at,
    });
    const id = sent?.id ?? '';
    expect((await client().emails.get(id)).data).toMatchObject({ scheduled_at: at, last_event: 'scheduled' });
    const later = inMs(2 * HOUR_MS).toISOString();
    expect((await client().emails.update({ id, scheduledAt: later })).data).toEqual({ object: 'email', id });
    expect((await client().emails.get(id)).data?.scheduled_at).toBe(later);
    expect((await client().emails.cancel(id)).data).toEqual({ object: 'email', id });
    expect((await client().emails.get(id)).data?.last_event).toBe('canceled');
    const { error } = await client().emails.update({ id, scheduledAt: later });
    expect(error).toMatchObject({ statusCode: 409, name: 'validation_error' });
  });

  test('sends a batch: all or nothing, or only the valid messages', async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    const mail = (subject: string) => ({ from: 'shop@example.test', to: 'ann@example.net', subject, text: 'Hi' });
    const both = await client().batch.send([mail(one), mail(two)]);
    expect([both.error, both.data?.data]).toEqual([null, [{ id: expect.any(String) }, { id: expect.any(String) }]]);
    await arrived(one);
    await arrived(two);

    const broken = { ...mail('never'), to: 'nobody', from: 'shop@example.test' };
    const strict = await client().batch.send([mail('never'), broken]);
    expect(strict.error).toEqual({
      statusCode: 400,
      name: 'validation_error',
      message: '[1].to is not an email address: it has no @',
    });
    const third = randomUUID();
    const permissive = await client().batch.send([broken, mail(third)], { batchValidation: 'permissive' });
    expect(permissive.data).toEqual({
      data: [{ id: expect.stringMatching(/^msg_/) }],
      errors: [{ index: 0, message: 'to is not an email address: it has no @' }],
    });
    await arrived(third);
  });

  test('sends once per idempotency key, single messages and batches', async () => {
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: randomUUID(), text: 'Once' };
    const idempotencyKey = randomUUID();
    const first = await client().emails.send(mail, { idempotencyKey });
    const again = await client().emails.send(mail, { idempotencyKey });
    expect([again.data, again.headers?.['idempotent-replayed']]).toEqual([first.data, 'true']);
    const other = await client().emails.send({ ...mail, text: 'Other' }, { idempotencyKey });
    expect(other.error).toMatchObject({ statusCode: 409, name: 'invalid_idempotent_request' });
    await arrived(mail.subject);

    const batchKey = { idempotencyKey: randomUUID() };
    const batch = [{ ...mail, subject: randomUUID() }];
    const [sent, repeated] = [await client().batch.send(batch, batchKey), await client().batch.send(batch, batchKey)];
    expect([sent.error, repeated.data]).toEqual([null, sent.data]);
    const wrong = await client().emails.send(mail, { idempotencyKey: 'x'.repeat(256) });
    expect(wrong.error).toMatchObject({ statusCode: 400, name: 'invalid_idempotency_key' });
  });

  test('lists sent messages, page by page', async () => {
    const { data: first } = await client().emails.list({ limit: 2 });
    expect(first).toMatchObject({ object: 'list', has_more: true });
    const ids = (first?.data ?? []).map(({ id }) => id);
    const { data: second } = await client().emails.list({ limit: 2, after: ids[1] ?? '' });
    expect(second?.data).toHaveLength(2);
    expect(second?.data.some(({ id }) => ids.includes(id))).toBe(false);
    const { data: before } = await client().emails.list({ before: ids[1] ?? '' });
    expect(before?.data.map(({ id }) => id)).toEqual([ids[0]]);
  });

  test('reports errors in the form that its users know', async () => {
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Never', text: 'Never' };
    expect((await client('re_123').emails.send(mail)).error).toEqual({
      statusCode: 401,
      name: 'validation_error',
      message: 'invalid or missing API key',
    });
    const nothing = await client().emails.send({ from: 'A <a@x.test>, B <b@y.test>', subject: '' } as never);
    expect(nothing.error).toMatchObject({ statusCode: 400, name: 'validation_error' });
    expect(nothing.error?.message.split('; ')).toEqual(
      expect.arrayContaining([
        'from is not an email address: its display name needs quotes, or there is more than one',
        'to is required',
        'subject must not be empty',
        'html or text is required',
      ]),
    );
    expect((await client().emails.send({ ...mail, from: 'shop@elsewhere.test' })).error).toMatchObject({
      statusCode: 403,
      name: 'invalid_from_address',
      message: "from must be an address on example.test, the key's domain",
    });
    const fetched = { ...mail, attachments: [{ filename: 'a.pdf', path: 'https://example.test/a.pdf' }] };
    expect((await client().emails.send(fetched)).error?.message.split('; ')).toEqual([
      'attachments[0].path is not supported: send the file as base64 in content',
      'attachments[0].content is required',
    ]);
    expect((await client().emails.send({ ...mail, scheduledAt: 'in 1 hour' })).error?.message).toBe(
      'scheduled_at must be a time in ISO 8601 with its zone, 2026-01-31T12:00:00Z',
    );
    expect((await client().emails.get('49a3999c-0ce1-4ea6-ab68-afcd6dc2e794')).error).toEqual({
      statusCode: 404,
      name: 'not_found',
      message: 'message not found',
    });
    const { data: own } = await client().emails.send({ ...mail, subject: randomUUID() });
    expect((await client().segments.list()).error).toMatchObject({
      statusCode: 404,
      message: expect.stringContaining('Use GET /v1/topics'),
    });
    expect((await client(now.slow).emails.get(own?.id ?? '')).error).toMatchObject({
      statusCode: 403,
      name: 'restricted_api_key',
    });
    for (const _ of [1, 2]) expect((await client(now.slow).emails.send(mail)).error).toBeNull();
    const limited = await client(now.slow).emails.send(mail);
    expect(limited.error).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded' });
    expect(Number(limited.headers?.['retry-after'])).toBeGreaterThan(0);
    expect((await client(now.slow).batch.send([mail])).error).toMatchObject({ statusCode: 429 });
  });
});
