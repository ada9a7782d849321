/** The messages (RFC 5322) that cost most to process: as many repetitions of one element as a message can hold. */

const TOP = 'From: ann@example.test\r\nTo: bob@example.org\r\nSubject: x\r\n';
const BYTES = 6_000_000;

const many = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join('');

const html = (content: string): string => `${TOP}MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n${content}`;

const parts = (count: number, make: (index: number) => string): string =>
  `${TOP}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n` +
  `${many(count, (index) => `--x\r\n${make(index)}\r\n`)}--x--\r\n`;

const attachment = (bytes: number): string =>
  `Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n` +
  `Content-Disposition: attachment; filename=a\r\nContent-ID: <${'c'.repeat(100)}>\r\n\r\n` +
  many(Math.floor(bytes / 78), () => `${'QUJD'.repeat(19)}\r\n`);

const htmlPart = (): string => `Content-Type: text/html\r\n\r\n${many(9_000, () => `<p>${'cid:'.repeat(20)}</p>\r\n`)}`;

/** Messages by the element that is repeated. */
export const WORST_MAIL: Readonly<Record<string, () => string>> = {
  'ten thousand headers': () => `${many(10_000, (index) => `X-${index}: x\r\n`)}${TOP}\r\nHi`,
  'ten thousand headers of one name': () => `${many(10_000, () => 'Comments: x\r\n')}${TOP}\r\nHi`,
  'two thousand tags': () => `${many(1_990, (index) => `X-Outbox-Tag: ${index}=x\r\n`)}${TOP}\r\nHi`,
  'two thousand unknown instructions': () => `${many(1_990, (index) => `X-Outbox-${index}: x\r\n`)}${TOP}\r\nHi`,
  'two thousand keys of metadata': () => `${many(1_990, (index) => `X-Outbox-Metadata: ${index}=x\r\n`)}${TOP}\r\nHi`,
  'lines that are no headers': () => `${many(1_990, () => 'x\r\n')}${TOP}\r\nHi`,
  'a hundred lines of encoded words': () => `${many(90, () => `X: ${'=?utf-8?q?a?= '.repeat(60)}\r\n`)}${TOP}\r\nHi`,
  'a header of encoded words': () => `X: ${many(3_000, () => '=?utf-8?b?4oKs?=\r\n ')}\r\n${TOP}\r\nHi`,
  'sixty thousand addresses': () => `To: ${many(1_900, () => `${'a@b,'.repeat(30)}\r\n `)}\r\n${TOP}\r\nHi`,
  'a thousand addresses': () => `Cc: ${many(900, (index) => `a${index}@b.test,\r\n `)}\r\n${TOP}\r\nHi`,
  'groups in groups': () => `To: ${many(1_900, () => `${'a:b;'.repeat(30)}\r\n `)}\r\n${TOP}\r\nHi`,
  'comments in comments': () => `To: ${many(1_900, () => `${'('.repeat(100)}\r\n `)}\r\n${TOP}\r\nHi`,
  'parameters of a type': () =>
    `Content-Type: text/plain${many(1_900, (index) => `;\r\n a*${index}=b; b${index}="c"`)}\r\n${TOP}\r\nHi`,
  'four hundred attachments': () => parts(400, () => attachment(78)),
  'a hundred attachments beside HTML': () => parts(100, (index) => (index === 0 ? htmlPart() : attachment(78))),
  'a hundred thousand parts': () => parts(100_000, () => '\r\nx'),
  'parts in parts': () =>
    many(400, (index) => `Content-Type: multipart/mixed; boundary=b${index}\r\n\r\n--b${index}\r\n`).replace(/^/, TOP),
  'an attachment of 25 MB': () => parts(1, () => attachment(24_000_000)),
  'a text of line ends': () => `${TOP}\r\n${'\r\n'.repeat(990_000)}`,
  'a text of dots': () => `${TOP}\r\n${'..\r\n'.repeat(200_000)}`,
  'a text of one line': () => `${TOP}\r\n${'x'.repeat(BYTES)}`,
  'a text in quoted-printable': () =>
    `${TOP}Content-Transfer-Encoding: quoted-printable\r\n\r\n${many(BYTES / 78, () => `${'=3D'.repeat(25)}=\r\n`)}`,
  'HTML of open tags': () => html(many(10_000, () => '<div><b><i>\r\n')),
  'HTML of a megabyte': () => html(many(13_000, () => `<p>${'x '.repeat(30)}</p>\r\n`)),
  'HTML of six megabytes': () => html(many(80_000, () => `<p>${'x '.repeat(30)}</p>\r\n`)),
};
