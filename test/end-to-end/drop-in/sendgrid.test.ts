import { randomUUID } from 'node:crypto';
import sendgridClient from '@sendgrid/client';
import sendgrid from '@sendgrid/mail';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { addressesIn, filesOf, firstMail, HOUR_MS, inMs, PNG, useProgram } from './program.ts';

/** The published client, unmodified, against the program. Assertions read the delivered mail itself. */
const { now, arrived } = useProgram(['d-0123456789abcdef0123456789abcdef']);

describe('@sendgrid/mail', () => {
  const warn = vi.fn();
  beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(warn));
  const use = (by = now.key): typeof sendgrid => {
    warn.mockClear();
    sendgridClient.setApiKey(by);
    sendgridClient.setDefaultRequest('baseUrl', `${now.baseUrl}/compat/sendgrid/`);
    sendgrid.setClient(sendgridClient); // users set the base URL the same way
    return sendgrid;
  };

  test('only warns about our keys', () => {
    use();
    expect(warn).toHaveBeenCalledWith('API key does not start with "SG.".');
  });

  test('sends every field of a message', async () => {
    const subject = randomUUID();
    const [response] = await use().send({
      from: { email: 'shop@example.test', name: 'Shop, the' },
      to: [{ email: 'ann@example.net', name: 'Ann "A"' }, 'bob@example.org'],
      cc: 'carol@example.net',
      bcc: 'dave@example.org',
      replyTo: 'help@example.test',
      subject,
      html: '<p>Hello <img src="cid:logo" alt="Logo"></p>',
      text: 'Hello',
      headers: { 'X-Order': '1234' },
      categories: ['receipt'],
      customArgs: { order: '1234' },
      trackingSettings: { clickTracking: { enable: false, enableText: false }, openTracking: { enable: false } },
      mailSettings: { sandboxMode: { enable: false } },
      attachments: [
        { content: Buffer.from('some text').toString('base64'), filename: 'a.txt', disposition: 'attachment' },
        {
          content: PNG.toString('base64'),
          filename: 'logo.png',
          type: 'image/png',
          disposition: 'inline',
          contentId: 'logo',
        },
      ],
    });
    expect([response.statusCode, response.body]).toEqual([202, '']);
    const id = response.headers['x-message-id'];
    expect((await now.api.get(`/v1/messages/${id}`)).body).toMatchObject({
      tags: [{ name: 'category', value: 'receipt' }],
      metadata: { order: '1234' },
      tracking: { opens: false, clicks: false },
    });
    const copies = await arrived(subject);
    expect(copies.flatMap(({ to }) => to)).toHaveLength(4);
    const mail = firstMail(copies);
    expect(mail.from?.value).toEqual([{ name: 'Shop, the', address: 'shop@example.test' }]);
    expect([mail.to ?? []].flat()[0]?.value[0]).toEqual({ name: 'Ann "A"', address: 'ann@example.net' });
    expect([addressesIn(mail.replyTo), mail.headers.get('x-order'), mail.text]).toEqual([
      ['help@example.test'],
      '1234',
      'Hello',
    ]);
    expect(filesOf(mail)).toEqual([
      ['a.txt', 'text/plain', undefined, 'some text'],
      ['logo.png', 'image/png', 'logo', 'not really an image'],
    ]);
  });

  test('sends one message for each personalization, with its own values', async () => {
    const subject = randomUUID();
    await use().send({
      from: 'shop@example.test',
      subject,
      text: 'Hello',
      headers: { 'X-All': 'all' },
      customArgs: { all: '1' },
      personalizations: [
        { to: 'ann@example.net', headers: { 'X-One': 'ann' } },
        { to: 'bob@example.org', subject: `${subject} for Bob`, customArgs: { own: '2' } },
      ],
    });
    const [ann] = await arrived(subject);
    expect([ann?.mail.headers.get('x-all'), ann?.mail.headers.get('x-one')]).toEqual(['all', 'ann']);
    const [bob] = await arrived(`${subject} for Bob`);
    expect(bob?.to).toEqual(['bob@example.org']);
    await use().sendMultiple({
      from: 'shop@example.test',
      to: ['ann@example.net', 'bob@example.org'],
      subject: `${subject} to many`,
      text: 'Hello',
    });
    expect((await arrived(`${subject} to many`, 2)).map(({ to }) => to)).toEqual(
      expect.arrayContaining([['ann@example.net'], ['bob@example.org']]),
    );
  });

  test('sends several messages at once, as an array', async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    const mail = (subject: string) => ({ from: 'shop@example.test', to: 'ann@example.net', subject, text: 'Hi' });
    await use().send([mail(one), mail(two)]);
    expect(await arrived(one)).toHaveLength(1);
    expect(await arrived(two)).toHaveLength(1);
  });

  test('sends with a dynamic template', async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    await use().send({
      from: 'shop@example.test',
      templateId: 'd-0123456789abcdef0123456789abcdef',
      personalizations: [
        { to: 'ann@example.net', dynamicTemplateData: { name: one } },
        { to: 'bob@example.org', dynamicTemplateData: { name: two } },
      ],
    });
    for (const name of [one, two]) expect((await arrived(`Welcome ${name}`))[0]?.mail.text).toContain(`Hello ${name}`);
  });

  test('schedules messages', async () => {
    const sendAt = Math.floor(inMs(HOUR_MS).getTime() / 1000);
    const [response] = await use().send({
      from: 'shop@example.test',
      to: 'ann@example.net',
      subject: 'Later',
      text: 'Later',
      sendAt,
    });
    const { body } = await now.api.get(`/v1/messages/${response.headers['x-message-id']}`);
    expect([body.status, body.scheduled_at]).toEqual(['scheduled', new Date(sendAt * 1000).toISOString()]);
  });

  test('reports errors in the form that its users know', async () => {
    const mail = { from: 'shop@example.test', to: 'ann@example.net', subject: 'Never', text: 'Never' };
    const errorsOf = async (sending: Promise<unknown>) => {
      const error = await sending.then(
        () => null,
        (reason: unknown) => reason as { readonly code: number; readonly response: { readonly body: object } },
      );
      return [error?.code, error?.response.body];
    };
    const told = (field: string | null, message: string) => ({ field, message, help: null });
    expect(await errorsOf(use('SG.none').send(mail))).toEqual([
      401,
      { errors: [told(null, 'invalid or missing API key')] },
    ]);
    expect(await errorsOf(use().send({ ...mail, to: 'nobody', asm: { groupId: 1 } }))).toEqual([
      400,
      {
        errors: [
          told(
            'asm',
            'asm is not supported: use a topic with POST /v1/messages/send, or set the header List-Unsubscribe',
          ),
        ],
      },
    ]);
    expect(await errorsOf(use().send({ ...mail, to: 'nobody' }))).toEqual([
      400,
      {
        errors: [
          told('personalizations[0].to', 'personalizations[0].to[0].email is not an email address: it has no @'),
        ],
      },
    ]);
    expect(await errorsOf(use().send({ ...mail, from: 'shop@elsewhere.test' }))).toEqual([
      403,
      {
        errors: [told('from.email', "from.email must be an address on example.test, the key's domain")],
      },
    ]);
    expect(await errorsOf(use().send({ ...mail, mailSettings: { sandboxMode: { enable: true } } }))).toMatchObject([
      400,
      { errors: [{ field: 'mail_settings', message: expect.stringContaining('ob_test_') }] },
    ]);
    expect(await errorsOf(use().send({ ...mail, substitutions: { name: 'Ann' } }))).toMatchObject([
      400,
      { errors: [{ message: expect.stringContaining('dynamic_template_data') }] },
    ]);
    for (const _ of [1, 2]) await use(now.slow).send(mail);
    expect(await errorsOf(use(now.slow).send(mail))).toMatchObject([429, { errors: [{ field: null }] }]);
    const { from, to } = mail;
    await expect(use().send({ from, to, templateId: 'd-none' })).rejects.toMatchObject({
      code: 400,
      response: { body: { errors: [{ field: 'template_id' }] } },
    });
  });
});
