import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildMimeMessage } from '../../../src/adapters/mail/compose.ts';
import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import type { StoredAttachment } from '../../../src/lib/mime/email-address.ts';
import { parseMail } from '../../../src/lib/mime/parse-mail.ts';
import { outgoingMail } from '../../adapters/mail/outgoing-mail.ts';

const bytes = fc.uint8Array({ maxLength: 300 }).map((content) => Buffer.from(content).toString('base64'));
const line = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 80 })
  .map((text) => text.replace(/\p{C}|\s/gu, 'x').replaceAll('=?', 'x'));
const contentType = fc.constantFrom(
  ...['application/pdf', 'text/csv; charset=iso-8859-15; header=present', 'text/calendar; method=REQUEST'],
  ...['application/x; title="a; b=c, d"', "application/x; title*=utf-8''%C3%A4", 'text/plain; charset=utf-8'],
);
const disposition = fc.constantFrom('attachment' as const, 'inline' as const, 'none' as const);
const file: fc.Arbitrary<StoredAttachment> = fc.record({ filename: line, contentType, disposition, content: bytes });
const other = contentType.filter((type) => !type.startsWith('text/plain'));

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 300 })
  .map((written) => written.replace(/[\r\0]/g, ' '));
const body: fc.Arbitrary<Partial<MessageBody>> = fc.record(
  {
    text,
    html: text,
    subject: line,
    attachments: fc.array(file, { maxLength: 4 }),
    alternatives: fc.array(
      fc.record({ contentType: other, disposition, content: bytes, filename: line, beforeHtml: fc.boolean() }),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: ['text'] },
);

type Part = Pick<StoredAttachment, 'contentType' | 'content' | 'disposition'> & { readonly filename?: string | null };

const asRead = ({ disposition: written, contentType: type, content, filename }: Part) => ({
  contentType: type,
  content,
  filename,
  disposition: written === 'none' ? null : written,
});

/** Plain text without a file name may be displayed. */
const isFile = ({ contentType: type }: Pick<Part, 'contentType'>): boolean => !type.startsWith('text/plain');
const withoutEnd = (written: string | undefined): string | undefined => written?.replace(/\n$/, '');

const composed = (parts: Partial<MessageBody>): Buffer =>
  Buffer.concat([
    ...buildMimeMessage(outgoingMail(parts), parts.text ?? '')
      .headed('')
      .chunks(),
  ]);

describe('any message of this service', () => {
  test('is read part by part as it was composed', () => {
    fc.assert(
      fc.property(body, (parts) => {
        const read = parseMail(composed(parts));
        if (typeof read === 'string') throw new Error(read);
        const { attachments = [], alternatives = [] } = parts;
        expect(read.attachments.filter(isFile)).toEqual(attachments.filter(isFile).map(asRead));
        const ordered = alternatives.toSorted((one, other) => Number(other.beforeHtml) - Number(one.beforeHtml));
        expect(read.alternatives.map(({ beforeHtml: _, ...each }) => each)).toEqual(ordered.map(asRead));
        if (attachments.length === 0) expect(withoutEnd(read.html)).toBe(withoutEnd(parts.html));
      }),
      { numRuns: 300 },
    );
  });

  test('reads any octets, or reports them as unreadable, in time', () => {
    const pieces = fc.constantFrom(
      ...['From: a@b.test\r\n', 'Content-Type: multipart/mixed; boundary=b\r\n', 'Content-Type: text/html\r\n', '\r\n'],
      ...[
        '--b\r\n',
        '--b--\r\n',
        '--b',
        '"',
        '(',
        ';',
        '=',
        '=?utf-8?q?',
        '\t',
        ' ',
        'x',
        '\0',
        '\xe4',
        '>',
        '\n',
        '\r',
      ],
      ...['Content-Transfer-Encoding: quoted-printable\r\n', 'Content-Transfer-Encoding: base64\r\n', "name*0*=''"],
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 200 }), (some) => {
        const read = parseMail(Buffer.from(some.join(''), 'latin1'));
        expect(typeof read === 'string' || Array.isArray(read.attachments)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
