import { afterAll, describe, expect, test } from 'vitest';
import { createMailParser } from '../../../src/lib/mime/mail-parser.ts';
import { parseMail } from '../../../src/lib/mime/parse-mail.ts';

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
  ])('in %s has the same result as when it is parsed at once', async (encoding, body) => {
    const raw = encoded(encoding, body);
    expect(raw.length).toBeGreaterThan(15_000);
    const halves = [raw.subarray(0, 7_777), raw.subarray(7_777)];
    const parsed = await parser.parse(halves, OWNER);
    expect(parsed).toEqual(await parseMail(raw));
    expect(parsed).toMatchObject({ from: [{ name: 'Ännä', address: 'a@b.test' }] });
  });

  test('of as many lines as allowed is parsed in time', async () => {
    const parsed = await parser.parse([encoded('7bit', 'a line\r\n'.repeat(990_000))], OWNER);
    expect(parsed).toMatchObject({ text: 'a line\n'.repeat(990_000) });
  });

  test('of more lines is refused', async () => {
    expect(await parser.parse([encoded('7bit', '\r\n'.repeat(1_000_001))], OWNER)).toBe(
      'it has more than 1000000 lines',
    );
  });
});

describe('a message that is refused', () => {
  const part = '--B\r\nContent-Type: text/plain; charset=x-unheard\r\nContent-Disposition: attachment\r\n\r\nx\r\n';
  const text = '--B\r\nContent-Type: text/plain; charset=x-unheard\r\n\r\nHi\xfc\r\n';
  const mail = (parts: string): Buffer =>
    Buffer.from(`Subject: \xfc\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n${text}${parts}--B--\r\n`, 'latin1');
  const problems = ['its headers are neither ASCII nor UTF-8', 'its charset x-unheard is not known'];

  test('is read leniently, with what is wrong with it', async () => {
    const raw = mail(part);
    expect(parseMail(raw)).toBe(problems[0]);
    const read = await parser.parseLeniently([raw], OWNER);
    expect(read).toMatchObject({ text: 'Hiü', problems, headers: [{ value: 'ü' }, {}] });
    expect(read?.attachments.map(({ content }) => content)).toEqual(['eA==']);
  });

  test('is read in a thread if it is large, up to the bounds', async () => {
    const read = await parser.parseLeniently([mail(part.repeat(1_000))], OWNER);
    expect(read?.attachments).toHaveLength(100);
    expect(read?.problems).toEqual([
      problems[0],
      'it has more than 500 parts',
      problems[1],
      'it has more than 100 attachments',
    ]);
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
    ['text/calendar; method=request; charset=iso-8859-1', 'text/calendar; method=request; charset=iso-8859-1'],
    ['TEXT/Calendar (an event);\tcomponent=vevent', 'text/calendar; component=vevent'],
    ['application/x; title="a; b=c, d"', 'application/x; title="a; b=c, d"'],
    ["application/x; title*=utf-8''%C3%A4; kept=1", "application/x; title*=utf-8''%C3%A4; kept=1"],
    ["application/x; name*0*=utf-8''%C3%A4; name*1=b; kept=1", 'application/x; kept=1'],
    ['application/x; title="a\\"b"; kept=1', 'application/x; title="a\\"b"; kept=1'],
    ['application/x; profile=http://a.test/b; flag; a=1; A=2', 'application/x; profile="http://a.test/b"; a=1'],
    ['application/x; __proto__=1; kept=1', 'application/x; __proto__=1; kept=1'],
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

describe('a part', () => {
  const parsed = async (...lines: readonly string[]) => {
    const mail = await parseMail(Buffer.from([`${HEADER}MIME-Version: 1.0`, ...lines].join('\r\n')));
    if (typeof mail === 'string') throw new Error(mail);
    return mail;
  };
  const bytesOf = async (encoding: string, ...lines: readonly string[]): Promise<string> => {
    const head = ['Content-Type: application/x', `Content-Transfer-Encoding: ${encoding}`, ''];
    const { attachments } = await parsed(...head, ...lines);
    return Buffer.from(attachments[0]?.content ?? '', 'base64').toString('latin1');
  };

  test.each([
    ['7bit', ['a ', 'b', ''], 'a \r\nb\r\n'],
    ['Quoted-Printable (a comment)', ['a=20', 'b  ', 'c=', 'd= ', '=e9=XY=4', ''], 'a \r\nb\r\ncd\xe9=XY=4\r\n'],
    ['base64', ['YQ==', 'YmI=', '', 'Y2Nj'], 'abbccc'],
    ['8bit', ['a\nb\rc', ''], 'a\nb\rc\r\n'],
  ])('in %s is decoded to its bytes, line ends as they came', async (encoding, lines, bytes) => {
    expect(await bytesOf(encoding, ...lines)).toBe(bytes);
  });

  test('ends before the line end of its delimiter, and a delimiter is a line of its own', async () => {
    const { attachments } = await parsed(
      ...['Content-Type: multipart/mixed; boundary="a b"', '', 'preamble', '--a b', 'Content-Type: application/x', ''],
      ...[
        '--a bc',
        'x--a b',
        '',
        '--a b \t',
        'Content-Type: application/y',
        '',
        '',
        '--a b--',
        'epilogue',
        '--a b',
        '',
      ],
    );
    const contents = attachments.map(({ content }) => Buffer.from(content, 'base64').toString());
    expect(contents).toEqual(['--a bc\r\nx--a b\r\n', '']);
  });

  test.each([
    ['filename="r\\"é\\".pdf"', 'r"é".pdf'],
    ["filename*=utf-8'en'%E2%82%AC%20rates.pdf; filename=rates.pdf", '€ rates.pdf'],
    ['filename*0*=iso-8859-15\'\'%A4; filename*1=" rates"; filename*2=.pdf', '€ rates.pdf'],
    ['filename="=?utf-8?Q?=E2=82=AC?= =?utf-8?Q?_rates.pdf?="', '€ rates.pdf'],
    ['filename=report(1).pdf', 'report(1).pdf'],
    ['filename="a;b.pdf" (a comment; filename=c.pdf)', 'a;b.pdf'],
  ])('is named as %s says', async (written, name) => {
    const { attachments } = await parsed(
      'Content-Type: application/pdf',
      `Content-Disposition: attachment; ${written}`,
    );
    expect(attachments[0]?.filename).toBe(name);
  });

  test.each([
    ['utf-8', 'ä', 'ä'],
    ['', '\xe4', 'ä'],
    ['us-ascii', 'ä', 'ä'],
    ['unknown-8bit', '\xe4', 'ä'],
    ['x-nobody-knows', 'ä', 'ä'],
    ['"ISO-8859-2"', '\xb1', 'ą'],
    ['cp936', '\xc4\xe3', '你'],
    ['iso-2022-jp', '\x1b$B$"\x1b(B', 'あ'],
  ])('of text in charset %s says %s', async (charset, written, text) => {
    const type = charset === '' ? 'text/plain' : `text/plain; charset=${charset}`;
    const bytes = Buffer.from(written, /[äあ]/.test(written) ? 'utf8' : 'latin1');
    const mail = await parseMail(Buffer.concat([Buffer.from(`${HEADER}Content-Type: ${type}\r\n\r\n`), bytes]));
    expect(mail).toMatchObject({ text });
  });

  test('that is html between texts makes all of it html, and nothing is lost', async () => {
    const { html, text } = await parsed(
      ...['Content-Type: multipart/mixed; boundary=b', '', '--b', '', 'a < b', '--b', 'Content-Type: text/html', ''],
      ...['<html><body><p>c</p></body></html>', '--b', '', 'd', '--b--'],
    );
    expect(html).toBe('<html><body><div>a &lt; b</div>\n\n<p>c</p>\n<div>d</div>\n</body></html>');
    expect(text).toBeUndefined();
  });

  test('of text that has a name and follows the text is a file; the first is the text', async () => {
    const named = (name: string) => ['--b', `Content-Type: text/plain; name=${name}`, '', name];
    const { text, attachments } = await parsed(
      ...['Content-Type: multipart/mixed; boundary=b', '', ...named('one.txt'), ...named('two.txt'), '--b--'],
    );
    expect(text).toBe('one.txt');
    expect(attachments).toMatchObject([{ filename: 'two.txt', disposition: null }]);
  });
});

describe('flowed text', () => {
  test.each([
    ['a paragraph \nof two lines\nand a line', 'a paragraph of two lines\nand a line'],
    ['> quoted \n> on\n>> deeper \n> back', '> quoted on\n>> deeper \n> back'],
    ['> quoted \nanswer', '> quoted \nanswer'],
    [' >no quote\n  indented\n From here', '>no quote\n indented\nFrom here'],
    ['text \n-- \nAnn', 'text \n-- \nAnn'],
    ['> text \n> -- \n> Ann', '> text \n> -- \n> Ann'],
  ])('%j is %j', async (flowed, text) => {
    const type = 'Content-Type: text/plain; format=Flowed\r\n\r\n';
    expect(await parseMail(Buffer.from(`${HEADER}${type}${flowed.replaceAll('\n', '\r\n')}`))).toMatchObject({ text });
  });

  test('with DelSp has its lines joined without the space', async () => {
    const type = 'Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\n';
    expect(await parseMail(Buffer.from(`${HEADER}${type}日本 \r\n語\r\n-- \r\nAnn`))).toMatchObject({
      text: '日本語\n-- \nAnn',
    });
  });
});
