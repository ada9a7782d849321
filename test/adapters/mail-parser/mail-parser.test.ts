import { afterAll, describe, expect, test } from 'vitest';
import { createMailParser } from '../../../src/adapters/mail-parser/mail-parser.ts';
import { parseMail } from '../../../src/adapters/mail-parser/parse-mail.ts';

const parser = createMailParser();
afterAll(() => parser.close());

const OWNER = 'org_1';
const HEADER = 'From: Ännä <a@b.test>\r\nTo: c@d.test\r\nSubject: =?utf-8?Q?gr=C3=BC=C3=9F?=\r\n';

const encoded = (encoding: string, body: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`${HEADER}Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`),
    Buffer.from(body),
  ]);

describe('a large message, which a thread parses,', () => {
  test.each([
    ['8bit', 'ünd lines\r\n\r\n.\r\nand\rmore\n'.repeat(1_000)],
    ['quoted-printable', '=C3=BCnd =\r\nlines=20\r\n'.repeat(1_000)],
    ['base64', Buffer.from('ünd lines\n'.repeat(2_000)).toString('base64').replace(/.{76}/g, '$&\r\n')],
  ])('in %s says what it says when it is parsed at once', async (encoding, body) => {
    const raw = encoded(encoding, body);
    expect(raw.length).toBeGreaterThan(15_000);
    const halves = [raw.subarray(0, 7_777), raw.subarray(7_777)];
    const parsed = await parser.parse(halves, OWNER);
    expect(parsed).toEqual(await parseMail(raw));
    expect(parsed).toMatchObject({ from: [{ name: 'Ännä', address: 'a@b.test' }] });
  });

  test('of as many lines as there may be is parsed in time', async () => {
    const parsed = await parser.parse([encoded('7bit', 'a line\r\n'.repeat(990_000))], OWNER);
    expect(parsed).toMatchObject({ text: 'a line\n'.repeat(990_000) });
  });

  test('of more lines is not', async () => {
    expect(await parser.parse([encoded('7bit', '\r\n'.repeat(1_000_001))], OWNER)).toBe(
      'it has more than 1000000 lines',
    );
  });
});

describe('the type of an attachment', () => {
  const typeOf = async (type: string, body = 'x'): Promise<string | undefined> => {
    const part = `--B\r\nContent-Type: ${type}\r\nContent-Disposition: attachment; filename=f\r\n\r\n${body}\r\n`;
    const text = '--B\r\nContent-Type: text/plain\r\n\r\nHi\r\n';
    const raw = `${HEADER}Content-Type: multipart/mixed; boundary=B\r\n\r\n${text}${part}--B--\r\n`;
    const parsed = await parseMail(Buffer.from(raw));
    return typeof parsed === 'string' ? parsed : parsed.attachments[0]?.contentType;
  };

  test.each([
    ['text/csv; charset=iso-8859-15; header=present', 'text/csv; charset=iso-8859-15; header=present'],
    ['text/plain; charset="windows-1252"; format=flowed', 'text/plain; charset=windows-1252; format=flowed'],
    ['application/pdf; name="my report.pdf"', 'application/pdf'],
    ['text/calendar; method=request; charset=iso-8859-1', 'text/calendar; charset=utf-8; method=REQUEST'],
    ['text/calendar; component=vevent', 'text/calendar; charset=utf-8; component=vevent'],
    ['application/x; title="a; b=c, d"', 'application/x; title="a; b=c, d"'],
    ["application/x; title*=utf-8''%C3%A4; kept=1", 'application/x; kept=1'],
    ['application/x; title="a\\"b"; kept=1', 'application/x; kept=1'],
    [`application/x; long=${'x'.repeat(600)}; kept=1`, 'application/x; kept=1'],
    ["application/x; a*=utf-8''%0D%0AX-Evil:1; kept=1", 'application/x; kept=1'],
    ['application/x; __proto__=1; kept=1', 'application/x; kept=1'],
    ['application/x', 'application/x'],
  ])('%s is kept as %s', async (given, kept) => {
    expect(await typeOf(given)).toBe(kept);
  });

  test('is that of its own part, however many there are', async () => {
    const part = (index: number): string =>
      `--B\r\nContent-Type: application/x-${index}; n=${index}\r\nContent-Disposition: attachment\r\n\r\n${index}\r\n`;
    const inline = '--B\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Hi\r\n';
    const message = '--B\r\nContent-Type: message/rfc822; n=9\r\n\r\nSubject: x\r\n\r\nHi\r\n';
    const raw = `${HEADER}Content-Type: multipart/mixed; boundary=B\r\n\r\n${part(1)}${inline}${message}${part(2)}--B--\r\n`;
    const parsed = await parseMail(Buffer.from(raw));
    const types = typeof parsed === 'string' ? [] : parsed.attachments.map(({ contentType }) => contentType);
    expect(types).toEqual(['application/x-1; n=1', expect.stringMatching(/^message\/rfc822/), 'application/x-2; n=2']);
  });
});
