import { describe, expect, it } from 'vitest';
import { addresses, createPostOffice, longestLine, withLineFeeds } from '../post-office.ts';

const { sent } = createPostOffice();

describe('a message arrives unchanged, field by field,', () => {
  it('with its date, Message-ID, addresses, reply-to and own headers', async () => {
    const mail = await sent({
      from: { address: 'from@a.test', name: 'Ann Example' },
      recipients: [
        { id: 'rcp_1', kind: 'to', address: 'one@b.test', name: 'One' },
        { id: 'rcp_2', kind: 'to', address: 'two@b.test' },
        { id: 'rcp_3', kind: 'cc', address: 'three@b.test', name: 'Three, "the" \\ third' },
      ],
      replyTo: [{ address: 'reply@a.test', name: 'Répondre' }],
      subject: 'Plain subject',
      headers: { 'X-Own': 'value: with, things', 'In-Reply-To': '<parent@a.test>', 'x-Empty': '' },
    });
    expect(mail.date).toEqual(new Date('2026-01-02T03:04:05Z'));
    expect(mail.messageId).toBe('<0123456789@a.test>');
    expect(addresses(mail.from)).toEqual([{ address: 'from@a.test', name: 'Ann Example' }]);
    expect(addresses(mail.to)).toEqual([
      { address: 'one@b.test', name: 'One' },
      { address: 'two@b.test', name: '' },
    ]);
    expect(addresses(mail.cc)).toEqual([{ address: 'three@b.test', name: 'Three, "the" \\ third' }]);
    expect(addresses(mail.replyTo)).toEqual([{ address: 'reply@a.test', name: 'Répondre' }]);
    expect(mail.headers.get('x-own')).toBe('value: with, things');
    expect(mail.inReplyTo).toBe('<parent@a.test>');
    expect(mail.subject).toBe('Plain subject');
    expect(mail.text?.trim()).toBe('Text');
    expect(mail.raw).toContain('MIME-Version: 1.0\r\n');
  });

  it('with emoji in subject and display names', async () => {
    const subject = '🎉 Ihre Bestellung – 30 % Rabatt 👩‍👩‍👧‍👦 für Sie, 日本語 '.repeat(4).trim();
    const mail = await sent({
      subject,
      from: { address: 'from@a.test', name: '🚀 Rakete' },
      recipients: [{ id: 'rcp_1', kind: 'to', address: 'to@b.test', name: '👩‍🚀 Å'.repeat(20) }],
    });
    expect(mail.subject).toBe(subject);
    expect(addresses(mail.from)).toEqual([{ address: 'from@a.test', name: '🚀 Rakete' }]);
    expect(addresses(mail.to)).toEqual([{ address: 'to@b.test', name: '👩‍🚀 Å'.repeat(20) }]);
    expect(mail.raw).toMatch(/^[\t\r\n -~]*$/);
    expect(longestLine(mail.raw)).toBeLessThanOrEqual(78);
  });

  it('with html and text in 8-bit characters', async () => {
    const html = '<p>Grüße – 日本 – 🎈</p>\n<p>Ein  langer = Satz mit Leerzeichen am Ende </p> \n.\n..\n';
    const text = 'Grüße\tan alle  \n.\n..dots\nFrom here\n';
    const mail = await sent({ html, text });
    expect(mail.html).toBe(html);
    expect(mail.text).toBe(text);
  });

  it('with text that is hardly ASCII at all', async () => {
    const text = '日本語の長い文章。\n'.repeat(200);
    const mail = await sent({ text, html: `<p>${text}</p>` });
    expect(mail.text).toBe(text);
    expect(mail.html).toBe(`<p>${text}</p>`);
    expect(mail.raw).toContain('Content-Transfer-Encoding: base64');
  });

  it('with lines longer than SMTP carries', async () => {
    const html = `<p>${'x'.repeat(5000)} ${'word '.repeat(1000)}</p>`;
    const mail = await sent({ html, text: 'y'.repeat(999) });
    expect(mail.html).toBe(html);
    expect(mail.text).toBe('y'.repeat(999));
    expect(longestLine(mail.raw)).toBeLessThanOrEqual(998);
  });

  it('with lines of dots, bare carriage returns and bare line feeds, which end nothing', async () => {
    const text = 'a\n.\nb\r.\rc\r\n.\r\nMAIL FROM:<evil@a.test>\n..\n...d';
    const mail = await sent({ text, html: '<p>.</p>\n.\n' });
    expect(mail.text).toBe(withLineFeeds(text));
    expect(mail.raw).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
  });

  it('with control characters and NUL in its text', async () => {
    const text = 'a\u0000b\u000bc\u007fd\u001be';
    expect((await sent({ text, html: '<p>x</p>' })).text).toBe(text);
  });

  it('with text made from its html if none was given', async () => {
    const mail = await sent({
      html: '<head><title>T</title><style>p{}</style></head><h1>Hi</h1><p>Your <a href="https://a.test/x?a=1&amp;b=2">order</a><img src="x" alt="!"></p>',
    });
    expect(mail.text).toBe('Hi\n\nYour order [https://a.test/x?a=1&b=2]!');
  });

  it('without a text part if its html contains no text', async () => {
    const mail = await sent({ html: '<img src="https://a.test/x.png">' });
    expect(mail.raw).not.toContain('text/plain');
    expect(mail.html).toBe('<img src="https://a.test/x.png">\n');
  });

  it('with text made in a thread from large html', async () => {
    const mail = await sent({ html: `<p>${'word '.repeat(10_000)}</p>` });
    expect(mail.text?.split(/\s+/)).toHaveLength(10_000);
  });

  it('with attachments of any bytes and any name', async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7919) % 251));
    const mail = await sent({
      html: '<p>x</p>',
      attachments: [
        { filename: 'plain.pdf', contentType: 'application/pdf', content: bytes.toString('base64') },
        {
          filename: 'Größe "quoted" 🎉 und ein sehr langer Name, der nicht in eine Zeile passt; wirklich nicht.txt',
          contentType: 'text/plain; charset=utf-8',
          content: Buffer.from('é').toString('base64'),
        },
        { filename: 'empty', contentType: 'nonsense', content: '' },
        {
          filename: 'forwarded',
          contentType: 'message/rfc822',
          content: Buffer.from('Subject: x\n\nx').toString('base64'),
        },
      ],
    });
    expect(
      mail.attachments.map(({ filename, contentType, contentDisposition }) => ({
        filename,
        contentType,
        contentDisposition,
      })),
    ).toEqual([
      { filename: 'plain.pdf', contentType: 'application/pdf', contentDisposition: 'attachment' },
      {
        filename: 'Größe "quoted" 🎉 und ein sehr langer Name, der nicht in eine Zeile passt; wirklich nicht.txt',
        contentType: 'text/plain',
        contentDisposition: 'attachment',
      },
      { filename: 'empty', contentType: 'application/octet-stream', contentDisposition: 'attachment' },
      { filename: 'forwarded', contentType: 'application/octet-stream', contentDisposition: 'attachment' },
    ]);
    expect(mail.attachments[0]?.content.equals(bytes)).toBe(true);
    expect(mail.attachments[1]?.content.toString()).toBe('é');
  });

  it('with inline images that the html names', async () => {
    const image = { filename: 'logo.png', contentType: 'image/png', contentId: 'logo@a.test', content: 'iVBORw0KGgo=' };
    const mail = await sent({ html: '<img src="cid:logo@a.test">', text: 'logo', attachments: [image] });
    expect(mail.html).toBe('<img src="cid:logo@a.test">');
    expect(mail.attachments).toMatchObject([
      {
        filename: 'logo.png',
        contentType: 'image/png',
        cid: 'logo@a.test',
        contentDisposition: 'inline',
        related: true,
      },
    ]);
  });

  it('when it is large', async () => {
    const content = Buffer.alloc(15_000_000, 'attachment ').toString('base64');
    const mail = await sent({ attachments: [{ filename: 'a', contentType: 'a/b', content }] });
    expect(mail.attachments[0]?.content.toString('base64') === content).toBe(true);
  });

  it('when its addresses are international', async () => {
    const mail = await sent({
      from: { address: 'jörg@xn--mller-kva.example', name: 'Jörg' },
      recipients: [{ id: 'rcp_1', kind: 'to', address: '用户@xn--r8jz45g.xn--zckzah' }],
    });
    expect(mail.envelope.from).toBe('jörg@xn--mller-kva.example');
    expect(Buffer.from(mail.raw, 'latin1').toString()).toContain('To: 用户@xn--r8jz45g.xn--zckzah\r\n');
  });
});
