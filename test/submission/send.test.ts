import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Submitting, startSubmitting } from './support/submitting.ts';

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting();
});
afterAll(() => submitting.close());

const kindsOf = async (reply: string) =>
  (await submitting.shown(reply)).recipients.map(({ address, kind }) => [kind, address]);

/** The header as sent. */
const headerOf = async (reply: string): Promise<string> =>
  (await submitting.composed(reply)).toString('utf8').split('\r\n\r\n')[0] ?? '';

describe('a submitted message', () => {
  test('is the same message that HTTP would have accepted', async () => {
    const reply = await submitting.send({
      from: 'Ann Ünal <ann@example.test>',
      to: 'Bob <bob@example.org>',
      cc: 'carol@example.org',
      bcc: 'dan@example.org',
      replyTo: 'Desk <desk@example.org>',
      subject: 'Grüße',
      text: 'Hi ü',
      html: '<p>Hi <img src="cid:logo" alt=""></p>',
      inReplyTo: '<1@example.org>',
      references: ['<0@example.org>', '<1@example.org>'],
      headers: {
        'X-Order': '17',
        'X-Outbox-Tag': ['kind=receipt', 'shop=a=b'],
        'X-Outbox-Metadata': 'order=17',
        'X-Outbox-Stream': 'bulk',
        'X-Outbox-TTL-Seconds': '600',
        'X-Outbox-Tracking': 'clicks',
        'List-Unsubscribe': '<https://example.test/u>',
      },
      attachments: [
        { filename: 'räport.pdf', content: Buffer.from('report'), contentType: 'application/pdf' },
        { filename: 'logo.gif', content: Buffer.from('GIF'), cid: 'logo', contentType: 'image/gif' },
      ],
    });
    expect(reply).toMatch(/^250 2\.0\.0 Ok: queued as msg_[a-z2-7]{26}$/);
    const shown = await submitting.shown(reply);
    expect(shown).toMatchObject({
      from: 'ann@example.test',
      from_name: 'Ann Ünal',
      subject: 'Grüße',
      reply_to: ['desk@example.org'],
      text: 'Hi ü',
      html: '<p>Hi <img src="cid:logo" alt=""></p>',
      stream: 'bulk',
      tracking: { opens: false, clicks: true },
      tags: [
        { name: 'kind', value: 'receipt' },
        { name: 'shop', value: 'a=b' },
      ],
      metadata: { order: '17' },
    });
    expect(shown.headers).toEqual({
      'In-Reply-To': '<1@example.org>',
      References: '<0@example.org> <1@example.org>',
      'X-Order': '17',
      'List-Unsubscribe': '<https://example.test/u>',
    });
    expect(shown.attachments).toMatchObject([
      { filename: 'logo.gif', content_type: 'image/gif', content_id: 'logo', content: 'R0lG' },
      { filename: 'räport.pdf', content_type: 'application/pdf', content: 'cmVwb3J0' },
    ]);
    expect(await kindsOf(reply)).toEqual([
      ['to', 'bob@example.org'],
      ['cc', 'carol@example.org'],
      ['bcc', 'dan@example.org'],
    ]);
  });

  test('goes only to its envelope: recipients that no header names are blind copies, shown in no header', async () => {
    const reply = await submitting.sendRaw(
      'From: ann@example.test\r\nTo: bob@example.org\r\nBcc: eve@example.org\r\nSubject: x\r\n\r\nHi',
      ['bob@example.org', 'dan@example.org'],
    );
    expect(await kindsOf(reply)).toEqual([
      ['to', 'bob@example.org'],
      ['bcc', 'dan@example.org'],
    ]);
    const header = await headerOf(reply);
    expect(header).toContain('To: bob@example.org\r\n');
    expect(header).not.toMatch(/dan@|eve@|bcc/i);
  });

  test('that is sent once per recipient shows the same headers in all copies', async () => {
    const message =
      'From: ann@example.test\r\nTo: Bob <bob@example.org>\r\nCc: carol@example.org\r\nSubject: x\r\n\r\nHi';
    for (const [recipient, kind] of [
      ['bob@example.org', 'to'],
      ['carol@example.org', 'cc'],
      ['dan@example.org', 'bcc'],
    ] as const) {
      const reply = await submitting.sendRaw(message, [recipient]);
      expect(await kindsOf(reply)).toEqual([[kind, recipient]]);
      expect(await headerOf(reply)).toContain('\r\nTo: Bob <bob@example.org>\r\nCc: carol@example.org\r\n');
    }
  });

  test('loses its X-Outbox headers and the headers that this service writes', async () => {
    const reply = await submitting.sendRaw(
      [
        ...[
          'Received: from x',
          'Received: from y',
          'Return-Path: <x@y.test>',
          'DKIM-Signature: v=1',
          'Sender: eve@y.test',
        ],
        ...['Message-ID: <theirs@y.test>', 'Date: Thu, 1 Jan 1970 00:00:00 +0000', 'From: ann@example.test'],
        ...['Subject: x', 'X-Outbox-Tag: a=b', 'Idempotency-Key: one', 'X-Empty:', 'X-Kept: yes', '', 'Hi'],
      ].join('\r\n'),
    );
    const header = await headerOf(reply);
    expect(header).not.toMatch(/X-Outbox|Idempotency|Received|Return-Path|DKIM|Sender|theirs|1970/i);
    expect(header).toContain('\r\nX-Kept: yes\r\n');
    expect(header).toContain('\r\nTo: undisclosed-recipients:;\r\n');
  });

  test('has a result for each recipient, even if one is not an address', async () => {
    const talk = await submitting.talk();
    expect(await talk.ask('MAIL FROM:<>\r\n')).toMatch(/^250/);
    expect(await talk.ask('RCPT TO:<"quoted>one"@example.org>\r\n')).toMatch(/^501/);
    expect(await talk.ask('RCPT TO:<nobody@[192.0.2.1]>\r\n')).toBe(
      '553 5.1.3 not an email address: its domain is an IP address',
    );
    expect(await talk.ask('RCPT TO:<bob@example.org>\r\n')).toMatch(/^250/);
    await talk.ask('DATA\r\n');
    const reply = await talk.ask('From: ann@example.test\r\nSubject: x\r\n\r\nHi\r\n.\r\n');
    expect(await kindsOf(reply)).toEqual([['bcc', 'bob@example.org']]);
    talk.close();
  });

  test('goes to addresses whose quoted local part has spaces, an @ or escapes', async () => {
    const talk = await submitting.talk();
    expect(await talk.ask('MAIL FROM:<"ann smith"@example.test> SIZE=100\r\n')).toMatch(/^250/);
    // If two spellings differ only in case, the later one wins, as for any address.
    const written = ['"john doe"', '"a@b"', '"John Doe"', '"say \\"hi\\""', '"plain"', '"john doe"'];
    for (const local of written) {
      expect(await talk.ask(`RCPT TO:<${local}@example.org> NOTIFY=NEVER\r\n`)).toMatch(/^250/);
    }
    await talk.ask('DATA\r\n');
    const header = 'From: ann@example.test\r\nTo: Joe <"john doe"@example.org>\r\nCc: "a@b"@example.org\r\n';
    const reply = await talk.ask(`${header}Subject: x\r\n\r\nHi\r\n.\r\n`);
    expect(await kindsOf(reply)).toEqual([
      ['to', '"John Doe"@example.org'],
      ['cc', '"a@b"@example.org'],
      ['bcc', '"say \\"hi\\""@example.org'],
      ['bcc', 'plain@example.org'],
    ]);
    expect(await headerOf(reply)).toContain('\r\nTo: Joe <"John Doe"@example.org>\r\nCc: "a@b"@example.org\r\n');
    talk.close();
  });

  test.each([
    ['an unended quote', '<"john doe@example.org>'],
    ['nothing in quotes', '<""@example.org>'],
    ['a tab', '<"john\tdoe"@example.org>'],
    ['a NUL', '<"john\0doe"@example.org>'],
    ['65 octets', `<"${'a b'.repeat(21)}"@example.org>`],
    ['no domain', '<"john doe"@>'],
    ['two addresses', '<"john doe"@example.org,b@example.org>'],
    ['an encoded line end', '<\\220d0a22@example.org>'],
    ['two parts', '<"john doe"@b@example.org>'],
  ])('is rejected for a quoted local part with %s', async (_, path) => {
    const talk = await submitting.talk();
    expect(await talk.ask('MAIL FROM:<>\r\n')).toMatch(/^250/);
    expect(await talk.ask(`RCPT TO:${path}\r\n`)).toMatch(/^5(?:01|53)/);
    talk.close();
  });

  test('is decoded from unusual charsets, flowed text and nested parts', async () => {
    const reply = await submitting.sendRaw(
      Buffer.concat([
        Buffer.from(
          [
            ...[
              'From: ann@example.test',
              'Subject: =?iso-8859-1?Q?Gr=FC=DFe?= =?utf-8?B?8J+Riw==?=',
              'MIME-Version: 1.0',
            ],
            ...[
              'Content-Type: multipart/mixed; boundary=a',
              '',
              '--a',
              'Content-Type: multipart/alternative; boundary=b',
              '',
            ],
            ...[
              '--b',
              'Content-Type: text/plain; charset=iso-8859-2; format=flowed',
              'Content-Transfer-Encoding: 8bit',
              '',
            ],
          ].join('\r\n'),
        ),
        Buffer.from('\r\nZa\xbf\xf3\xb3\xe6 \r\nflowed\r\n', 'latin1'),
        Buffer.from(
          [
            ...[
              '--b',
              'Content-Type: text/html; charset=windows-1252',
              'Content-Transfer-Encoding: quoted-printable',
              '',
            ],
            ...['<p>=80 5</p>', '--b--', '--a', 'Content-Type: application/ms-tnef; name=winmail.dat'],
            ...['Content-Transfer-Encoding: base64', '', 'AAEC', '--a--', ''],
          ].join('\r\n'),
        ),
      ]),
    );
    const shown = await submitting.shown(reply);
    expect(shown).toMatchObject({ subject: 'Grüße👋', text: 'Zażółć flowed', html: '<p>€ 5</p>' });
    expect(shown.attachments).toMatchObject([
      { filename: 'winmail.dat', content_type: 'application/ms-tnef', content: 'AAEC' },
    ]);
  });

  test('may have attachments of ten megabytes while others are served', async () => {
    const content = Buffer.alloc(10_000_000, 'ten megabytes ');
    const reply = await submitting.send({ to: 'bob@example.org', attachments: [{ filename: 'a.bin', content }] });
    const { attachments } = await submitting.shown(reply);
    const [file] = attachments as { content: string }[];
    expect(Buffer.from(file?.content ?? '', 'base64').equals(content)).toBe(true);
  });

  test('without a body has an empty text', async () => {
    const reply = await submitting.sendRaw('From: ann@example.test\r\nSubject: x\r\n');
    expect(await submitting.shown(reply)).toMatchObject({ text: '' });
  });
});

describe('a repeated message', () => {
  const message = (subject: string, header: string) =>
    `From: ann@example.test\r\nTo: bob@example.org\r\nSubject: ${subject}\r\nMessage-ID: <m1@client.test>\r\n${header}\r\n\r\nHi`;

  test('with the same Idempotency-Key gets the first id; with another body it is refused', async () => {
    const first = await submitting.sendRaw(message('x', 'Idempotency-Key: order 1'));
    expect(first).toMatch(/^250 2\.0\.0 Ok: queued as msg_/);
    expect(await submitting.sendRaw(message('x', 'Idempotency-Key: order 1'))).toBe(first);
    expect(await submitting.sendRaw(message('y', 'Idempotency-Key: order 1'))).toMatch(
      /^554 5\.6\.0 .*Idempotency-Key/i,
    );
  });

  test('by Message-ID, if requested, is recognized for each envelope', async () => {
    const asked = message('x', 'X-Outbox-Idempotency: message-id');
    const first = await submitting.sendRaw(asked);
    expect(await submitting.sendRaw(asked)).toBe(first);
    const other = await submitting.sendRaw(asked, ['carol@example.org']);
    expect(other).toMatch(/^250 2\.0\.0 Ok: queued as msg_/);
    expect(other).not.toBe(first);
    const unasked = await submitting.sendRaw(message('x', 'X-Other: 1'));
    expect(unasked).not.toBe(await submitting.sendRaw(message('x', 'X-Other: 1')));
  });

  test('sent at the same moment is one message', async () => {
    const before = await submitting.accepted();
    const asked = message('z', 'Idempotency-Key: order 2');
    const replies = await Promise.all(Array.from({ length: 8 }, () => submitting.sendRaw(asked)));
    expect(new Set(replies).size).toBe(1);
    expect(await submitting.accepted()).toBe(before + 1);
  });
});
