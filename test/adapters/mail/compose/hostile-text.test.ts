import fc from 'fast-check';
import { decodeWords } from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { addresses, createPostOffice, headerOf, longestLine, withLineFeeds } from '../post-office.ts';

const { send, sent } = createPostOffice();

describe('a composed message', () => {
  it('has blind recipients in the envelope only', async () => {
    const mail = await sent({
      recipients: [
        { id: 'rcp_1', kind: 'to', address: 'seen@b.test' },
        { id: 'rcp_2', kind: 'bcc', address: 'hidden@b.test', name: 'Hidden' },
      ],
    });
    expect(mail.envelope.to).toEqual(['seen@b.test', 'hidden@b.test']);
    expect(mail.raw).not.toMatch(/hidden|bcc/i);
  });

  it('shows all recipients even if the envelope has only some of them', async () => {
    const mail = await sent({
      recipients: [
        { id: 'rcp_1', kind: 'to', address: 'one@b.test' },
        { id: 'rcp_2', kind: 'cc', address: 'two@c.test' },
      ],
      envelopeTo: ['two@c.test'],
    });
    expect(mail.envelope.to).toEqual(['two@c.test']);
    expect(addresses(mail.to)).toMatchObject([{ address: 'one@b.test' }]);
  });

  it('keeps text that looks like an encoded word unchanged', async () => {
    const literal = '=?utf-8?q?=42cc=3A_evil?= =?utf-8?b?ZXZpbA==?=';
    const mail = await sent({
      subject: literal,
      from: { address: 'from@a.test', name: literal },
      headers: { 'X-Own': literal },
      attachments: [{ filename: literal, contentType: 'a/b', content: '' }],
    });
    expect(mail.subject).toBe(literal);
    expect(addresses(mail.from)).toEqual([{ address: 'from@a.test', name: literal }]);
    expect(decodeWords(headerOf(mail, 'x-own') ?? '')).toBe(literal);
    // Some readers decode a file name twice, so the encoded-word syntax is made harmless.
    expect(mail.attachments[0]?.filename).toBe(literal.replaceAll('=?', '=_'));
  });

  it.each(['Bcc', 'from', 'Content-Type', 'DKIM-Signature', 'X Own', 'X-Own\r\nBcc', 'X-Own:', ''])(
    'with a header %j is a fault, because such requests were refused before',
    async (name) => {
      await expect(send({ headers: { [name]: 'x' } })).rejects.toThrow('cannot be given');
    },
  );
});

describe('Reply-To', () => {
  it('in the headers is written unchanged', async () => {
    const mail = await sent({ headers: { 'Reply-To': 'Desk <desk@b.test>' } });
    expect(addresses(mail.replyTo)).toEqual([{ address: 'desk@b.test', name: 'Desk' }]);
  });

  it('next to a reply-to field is a fault, because requests with both were refused before', async () => {
    const replyTo = [{ address: 'desk@b.test' }];
    await expect(send({ replyTo, headers: { 'reply-to': 'other@b.test' } })).rejects.toThrow('cannot be given');
  });
});

const HEADERS = [
  'date',
  'from',
  'to',
  'subject',
  'message-id',
  'x-own',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
];
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .array(
      fc.constantFrom(
        ' ',
        '  ',
        '=?utf-8?q?x?=',
        '"',
        '\\',
        '\r\n',
        '\n.\n',
        '<',
        '@',
        ',',
        'é',
        '🎉',
        'word',
        '\t',
        'Bcc: x@y.test',
      ),
      {
        maxLength: 30,
      },
    )
    .map((words) => words.join('')),
);
const wellFormed = (value: string): string => value.toWellFormed();
/** Control characters become spaces, and parsers trim. */
const seen = (value: string): string =>
  wellFormed(value)
    .replace(/\p{Cc}/gu, ' ')
    .trim();

describe('any text in a header', () => {
  it('is read back unchanged, and adds no header, recipient or line', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, text, async (subject, name, own) => {
        const mail = await sent({ subject, from: { address: 'from@a.test', name }, headers: { 'X-Own': own } });
        expect(mail.headerLines.map(({ key }) => key)).toEqual(HEADERS);
        expect(mail.envelope.to).toEqual(['to@b.test']);
        expect(addresses(mail.from).map(({ address }) => address)).toEqual(['from@a.test']);
        expect(mail.subject?.trim() ?? '').toBe(seen(subject));
        expect(decodeWords(headerOf(mail, 'x-own') ?? '').trim()).toBe(seen(own));
        expect(mail.raw).toMatch(/^[\t\r\n -~]*$/);
        expect(longestLine(mail.raw)).toBeLessThanOrEqual(998);
      }),
      { numRuns: 200 },
    );
  });

  it('is read back unchanged from a body too', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (plain, html) => {
        const mail = await sent({ text: `T${plain}`, html: `<p>${html}` });
        expect(mail.text).toBe(withLineFeeds(wellFormed(`T${plain}`)));
        expect(mail.html).toBe(withLineFeeds(wellFormed(`<p>${html}`)));
        expect(longestLine(mail.raw)).toBeLessThanOrEqual(998);
      }),
      { numRuns: 200 },
    );
  });
});
