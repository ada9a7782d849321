import { simpleParser } from 'mailparser';
import { decodeWords } from 'postal-mime';
import { expect, test } from 'vitest';
import { createPostOffice } from '../post-office.ts';

const { sent } = createPostOffice();

test.each(['Größe "2".pdf', '日本語の長い名前の添付ファイル。とても長い名前です.pdf', `${'long '.repeat(20)}.pdf`])(
  'a file called %s has its name encoded by RFC 2231, and by RFC 2047 in the type',
  async (filename) => {
    const mail = await sent({ attachments: [{ filename, contentType: 'application/pdf', content: 'JVBERi0=' }] });
    expect(mail.attachments).toMatchObject([{ filename, contentType: 'application/pdf' }]);
    const { raw } = mail;
    const [, written = ''] = /^Content-Type: application\/pdf;\r\n name="([^"]*)"\r\n/m.exec(raw) ?? [];
    expect(decodeWords(written.replace(/\r\n/g, ''))).toBe(filename);
    expect(raw).toMatch(/^Content-Disposition: attachment;\r\n filename\*(?:0\*)?=utf-8''/m);
    // A client that only understands the name in Content-Type.
    const old = raw.replace(/^ filename\*.*\r\n/gm, '').replace(/^Content-Disposition: attachment;\r\n/m, '');
    expect((await simpleParser(Buffer.from(old, 'latin1'))).attachments[0]?.filename).toBe(filename);
  },
);
