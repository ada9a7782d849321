import { randomUUID } from 'node:crypto';
import { simpleParser } from 'mailparser';
import { Errors, Models, ServerClient } from 'postmark';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/api-client.ts';
import { addressesIn, filesOf, firstMail, PNG, useProgram } from './program.ts';

/** The published client, unmodified, against the program. Assertions read the delivered mail itself. */
const { now, arrived } = useProgram(['welcome', '1234567']);

describe('postmark', () => {
  const client = (by = now.key): ServerClient =>
    new ServerClient(by, { useHttps: false, requestHost: `${now.baseUrl.replace('http://', '')}/compat/postmark` });

  test('sends every field of a message', async () => {
    const subject = randomUUID();
    const sent = await client().sendEmail({
      From: '"Shop, the" <shop@example.test>',
      To: '"Ann, first" <ann@example.net>, bob@example.org',
      Cc: 'carol@example.net',
      Bcc: 'dave@example.org',
      ReplyTo: 'help@example.test, more@example.test',
      Subject: subject,
      HtmlBody: '<p>Hello <img src="cid:logo" alt="Logo"></p>',
      TextBody: 'Hello',
      Tag: 'receipt',
      Metadata: { order: '1234' },
      Headers: [{ Name: 'X-Order', Value: '1234' }],
      TrackOpens: false,
      TrackLinks: Models.LinkTrackingOptions.None,
      MessageStream: 'outbound',
      Attachments: [
        new Models.Attachment('a.txt', Buffer.from('some text').toString('base64'), 'text/plain'),
        new Models.Attachment('logo.png', PNG.toString('base64'), 'image/png', 'cid:logo', PNG.length),
      ],
    });
    expect(sent).toEqual({
      To: '"Ann, first" <ann@example.net>, bob@example.org',
      Cc: 'carol@example.net',
      Bcc: 'dave@example.org',
      SubmittedAt: expect.any(String),
      MessageID: expect.stringMatching(/^msg_/),
      ErrorCode: 0,
      Message: 'OK',
    });
    const copies = await arrived(subject);
    expect(copies.flatMap(({ to }) => to)).toHaveLength(4);
    const mail = firstMail(copies);
    expect([mail.to ?? []].flat()[0]?.value).toEqual([
      { name: 'Ann, first', address: 'ann@example.net' },
      { name: '', address: 'bob@example.org' },
    ]);
    expect(addressesIn(mail.replyTo)).toEqual(['help@example.test', 'more@example.test']);
    expect([mail.headers.get('x-order'), mail.text]).toEqual(['1234', 'Hello']);
    expect(filesOf(mail)).toEqual([
      ['a.txt', 'text/plain', undefined, 'some text'],
      ['logo.png', 'image/png', 'logo', 'not really an image'],
    ]);

    const details = await eventually(
      () => client().getOutboundMessageDetails(sent.MessageID),
      ({ MessageEvents }) => MessageEvents.length === 4,
    );
    expect(details).toMatchObject({
      MessageID: sent.MessageID,
      Tag: 'receipt',
      To: [
        { Email: 'ann@example.net', Name: 'Ann, first' },
        { Email: 'bob@example.org', Name: null },
      ],
      Recipients: ['ann@example.net', 'bob@example.org', 'carol@example.net', 'dave@example.org'],
      From: '"Shop, the" <shop@example.test>',
      Subject: subject,
      Status: 'Sent',
      TextBody: 'Hello',
      Metadata: { order: '1234' },
      MessageStream: 'outbound',
      Sandboxed: false,
      Attachments: ['a.txt', 'logo.png'],
      TrackOpens: false,
      TrackLinks: 'None',
    });
    expect(details.MessageEvents.map(({ Type }) => Type)).toEqual(['Delivered', 'Delivered', 'Delivered', 'Delivered']);
    const { Body } = await client().getOutboundMessageDump(sent.MessageID);
    expect((await simpleParser(Body)).subject).toBe(subject);
    expect(details.Body).toBe(Body);
  });

  test('broadcasts with an unsubscribe link, and one copy for each recipient', async () => {
    const Subject = randomUUID();
    const From = 'shop@example.test';
    await client().sendEmail({ From, To: 'ann@example.net', Subject, TextBody: 'News', MessageStream: 'broadcast' });
    const [copy] = await arrived(Subject);
    expect(copy?.mail.headers.get('list')).toMatchObject({ unsubscribe: { url: expect.any(String) } });
  });

  test('sends with templates, by number and alias, one at a time and in batches', async () => {
    const names = [randomUUID(), randomUUID(), randomUUID()];
    const mail = (name: string | undefined, by: object) => ({
      From: 'shop@example.test',
      To: 'ann@example.net',
      TemplateModel: { name },
      ...by,
    });
    const one = await client().sendEmailWithTemplate(mail(names[0], { TemplateAlias: 'Welcome' }) as never);
    expect(one.ErrorCode).toBe(0);
    const many = await client().sendEmailBatchWithTemplates([
      mail(names[1], { TemplateId: 1_234_567 }),
      mail(names[2], { TemplateAlias: 'welcome', InlineCss: true }),
      mail(undefined, { TemplateAlias: 'welcome', TemplateModel: { name: 4711 } }),
      mail('Nobody', { TemplateAlias: 'absent' }),
      mail('Nobody', { TemplateAlias: 'welcome', TemplateModel: {} }),
    ] as never);
    expect(many.map(({ ErrorCode, Message }) => [ErrorCode, Message])).toEqual([
      [0, 'OK'],
      [0, 'OK'],
      [0, 'OK'],
      [1101, 'TemplateAlias is not a template of your organization'],
      [300, 'TemplateModel.name is required'],
    ]);
    for (const name of [...names, '4711'])
      expect((await arrived(`Welcome ${name}`))[0]?.mail.text).toContain(`Hello ${name}`);
    await expect(client().sendEmailWithTemplate(mail('x', { TemplateAlias: 'absent' }) as never)).rejects.toMatchObject(
      {
        name: 'ApiInputError',
        code: 1101,
        statusCode: 422,
      },
    );
  });

  test('sends a batch, and reports the result of each message', async () => {
    const Subject = randomUUID();
    const mail = { From: 'shop@example.test', To: 'ann@example.net', Subject, TextBody: 'Hi' };
    const sent = await client().sendEmailBatch([
      mail,
      { ...mail, To: 'nobody' },
      { ...mail, From: 'x@elsewhere.test' },
    ]);
    expect(sent.map(({ ErrorCode, Message, To }) => [ErrorCode, Message, To])).toEqual([
      [0, 'OK', 'ann@example.net'],
      [300, 'To is not an email address: it has no @', 'nobody'],
      [400, "From must be an address on example.test, the key's domain", 'ann@example.net'],
    ]);
    await arrived(Subject);
  });

  test('reports errors in the form that its users know', async () => {
    const mail = { From: 'shop@example.test', To: 'ann@example.net', Subject: 'Never', TextBody: 'Never' };
    await expect(client('00000000-0000-0000-0000-000000000000').sendEmail(mail)).rejects.toMatchObject({
      constructor: Errors.InvalidAPIKeyError,
      code: 10,
      statusCode: 401,
      message: 'invalid or missing API key: send an API key of Outbox, ob_…, in X-Postmark-Server-Token',
    });
    await expect(
      client().sendEmail({ ...mail, To: 'nobody', TextBody: '', HtmlBody: '<p>' + '</i>' }),
    ).rejects.toMatchObject({
      constructor: Errors.InvalidEmailRequestError,
      code: 300,
      statusCode: 422,
      message: 'To is not an email address: it has no @',
    });
    for (const [more, sentence] of [
      [{ TrackLinks: 'HtmlAndText' }, 'TrackLinks must be HtmlOnly or None: links in the text cannot be tracked'],
      [
        { MessageStream: 'other' },
        'MessageStream must be outbound or broadcast. Instead of other streams, use a key and a domain for each',
      ],
      [
        {
          Headers: [
            { Name: 'X-A', Value: '1' },
            { Name: 'X-A', Value: '2' },
          ],
        },
        'Headers[1].Name is given twice',
      ],
      [
        { Attachments: [{ Name: 'a', Content: '!', ContentType: 'text/plain', ContentID: null }] },
        'Attachments[0].Content must be base64 (RFC 4648 §4) without line breaks',
      ],
    ] as const)
      await expect(client().sendEmail({ ...mail, ...(more as object) })).rejects.toMatchObject({
        code: 300,
        message: sentence,
      });
    await expect(client().getOutboundMessageDetails('msg_none')).rejects.toMatchObject({
      constructor: Errors.ApiInputError,
      code: 701,
      message: 'message not found',
    });
    await expect(client().activateBounce(1)).rejects.toMatchObject({
      message: expect.stringContaining('Use GET /v1/messages?status=bounced'),
    });
    await expect(client(now.slow).sendEmailBatch([mail, mail, mail])).rejects.toMatchObject({
      code: 410,
      statusCode: 422,
    });
    await client(now.slow).sendEmail(mail);
    await expect(client(now.slow).sendEmail(mail)).rejects.toMatchObject({
      constructor: Errors.RateLimitExceededError,
      statusCode: 429,
    });
  });
});
