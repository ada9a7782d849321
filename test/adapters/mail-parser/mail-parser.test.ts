import { afterAll, describe, expect, test } from 'vitest';
import { createMailParser } from '../../../src/adapters/mail-parser/mail-parser.ts';
import { parseMail } from '../../../src/adapters/mail-parser/parse-mail.ts';

const parser = createMailParser();
afterAll(() => parser.close());

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
    const parsed = await parser.parse(halves);
    expect(parsed).toEqual(await parseMail(raw));
    expect(parsed).toMatchObject({ from: [{ name: 'Ännä', address: 'a@b.test' }] });
  });

  test('of as many lines as there may be is parsed in time', async () => {
    const parsed = await parser.parse([encoded('7bit', 'a line\r\n'.repeat(990_000))]);
    expect(parsed).toMatchObject({ text: 'a line\n'.repeat(990_000) });
  });

  test('of more lines is not', async () => {
    expect(await parser.parse([encoded('7bit', '\r\n'.repeat(1_000_001))])).toBe('it has more than 1000000 lines');
  });
});
