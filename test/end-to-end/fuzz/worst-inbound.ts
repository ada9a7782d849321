import { WORST_MAIL } from './worst-mail.ts';

/** Mails for a domain that cost most to read, check and record. */

const TOP = 'From: ann@sender.test\r\nTo: bob@inbound.outbox.test\r\nSubject: x\r\n';

const many = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join('');
const text = (body: string): string => `${TOP}\r\n${body}`;
const html = (body: string): string => `${TOP}MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n${body}`;
const encoded = (encoding: string, body: string): string =>
  `${TOP}Content-Transfer-Encoding: ${encoding}\r\n\r\n${body}`;
const mixed = (body: string): string => `${TOP}Content-Type: multipart/mixed; boundary=x\r\n\r\n${body}`;
const signature = (index: number): string =>
  `DKIM-Signature: v=1; a=rsa-sha256; d=sender.test; s=s${index}; h=${'from:'.repeat(100)}to; bh=YQ==; b=YQ==\r\n`;
const seal = (index: number): string =>
  `ARC-Seal: i=${index}; a=rsa-sha256; cv=none; d=sender.test; s=s; b=YQ==\r\n` +
  `ARC-Message-Signature: i=${index}; a=rsa-sha256; d=sender.test; s=s; h=from; bh=YQ==; b=YQ==\r\n` +
  `ARC-Authentication-Results: i=${index}; sender.test; spf=pass\r\n`;

/** Mails by the part that they repeat. */
const INBOUND_ONLY: Readonly<Record<string, () => string>> = {
  'ten thousand nested parts': () =>
    TOP + many(10_000, (at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`),
  'ten thousand attachments': () =>
    mixed(`${many(10_000, (at) => `--x\r\nContent-Type: application/pdf; name=${at}\r\n\r\nx\r\n`)}--x--\r\n`),
  'a megabyte of one field': () => `X: ${many(14_000, () => `${'x'.repeat(70)}\r\n `)}x\r\n${text('Hi')}`,
  'a megabyte of subject': () =>
    `Subject: ${many(14_000, () => '=?utf-8?b?4oI=?=\r\n =?utf-8?b?rA==?=\r\n ')}x\r\n${text('Hi')}`,
  'ten thousand addresses': () => `To: ${many(10_000, (at) => `"a ${at}" <a${at}@b.test>,\r\n `)}\r\n${text('Hi')}`,
  'a hundred kilobytes of references': () =>
    `References: ${many(1_900, (at) => `<${at}${'r'.repeat(40)}@b.test>\r\n `)}\r\n${text('Hi')}`,
  'references to messages of the service': () =>
    `References: ${many(1_900, (at) => `<msg_${String(at).replace(/\d/g, 'a').padStart(26, 'b')}@b.test>\r\n `)}\r\n${text('Hi')}`,
  'pieces of a name': () =>
    mixed(
      `--x\r\nContent-Disposition: attachment${many(5_000, (at) => `;\r\n filename*${at}*=%41%42`)}\r\n\r\nx\r\n--x--\r\n`,
    ),
  'comments in a type': () => `Content-Type: ${'('.repeat(200_000)}\r\n${text('Hi')}`,
  'quotes in a type': () => `Content-Type: text/plain; a="${'\\"'.repeat(100_000)}\r\n${text('Hi')}`,
  'base64 of padding': () =>
    encoded(
      'base64',
      many(50_000, () => 'QQ==\r\n'),
    ),
  'base64 of junk': () =>
    encoded(
      'base64',
      many(50_000, () => `${'*'.repeat(70)}\r\n`),
    ),
  'quoted-printable of signs': () =>
    encoded(
      'quoted-printable',
      many(50_000, () => `${'='.repeat(76)}\r\n`),
    ),
  'quoted-printable of spaces': () =>
    encoded(
      'quoted-printable',
      many(3_000, () => `${' '.repeat(900)}=\r\n`),
    ),
  'lines that are almost boundaries': () => mixed(many(500_000, () => '--x-\r\n')),
  'UTF-7 of signs': () => `Content-Type: text/plain; charset=utf-7\r\n${text('+A'.repeat(500_000))}`,
  'flowed text': () => `Content-Type: text/plain; format=flowed\r\n${text(many(100_000, () => '> x \r\n'))}`,
  'nested quotes': () => text(many(140, (at) => `${'>'.repeat(at)} x\r\n`)),
  'lines that begin a quote': () => text(many(600, () => 'On Monday, Ann wrote:\r\n> x\r\n')),
  'a begun quote without an end': () => text(`On ${'x '.repeat(9_900)}`),
  'begun quotes without an end': () => text('On x '.repeat(3_900)),
  'lines that begin a signature': () => text(many(3_000, () => '-- \r\n')),
  underscores: () => text('_'.repeat(19_900)),
  'spaces before line ends': () => text(many(20, () => `${' '.repeat(950)}\r\n`)),
  'HTML of nested elements': () => html(many(100_000, () => '<b>\r\n')),
  'HTML of attributes': () => html(`<p ${many(40_000, (at) => `a${at}=b `)}>`),
  'HTML of styles': () => html(`<p style="${many(20_000, () => 'color: red; ')}">`),
  'HTML of comments': () => html('<!--'.repeat(100_000)),
  'HTML of references': () => html('&amp'.repeat(100_000)),
  'HTML of open brackets': () => html('<'.repeat(400_000)),
  'HTML of style sheets': () => html('<style>'.repeat(60_000)),
  'ten signatures': () => many(10, signature) + text('Hi'),
  'a thousand signatures': () => many(1_000, signature) + text('Hi'),
  'fifty seals': () => many(50, (at) => seal(at + 1)) + text('Hi'),
  'thirty servers': () => many(30, () => `Received: from a.test by b.test; ${'x'.repeat(900)}\r\n`) + text('Hi'),
};

/** Mail up to this size is read on the event loop, so that its worst contents count there. */
const INLINE_BYTES = 3_900;

/** Each mail whole, and cut to a size that is read on the event loop. */
export const WORST_INBOUND: Readonly<Record<string, () => string>> = Object.fromEntries(
  Object.entries({ ...WORST_MAIL, ...INBOUND_ONLY }).flatMap(([what, make]) => [
    [what, make],
    [`${what}, cut`, () => make().slice(0, INLINE_BYTES)],
  ]),
);

/** Mails that cannot be read as a whole, with the problem that is listed. */
export const PROBLEMS: Readonly<Record<string, RegExp>> = {
  'ten thousand nested parts': /deeper than 20/,
  'ten thousand attachments': /more than 500 parts/,
  'a megabyte of one field': /headers are larger/,
  'ten thousand addresses': /more than 1000 addresses in to/,
  'ten thousand headers': /more than 2000 fields/,
  'a hundred thousand parts': /more than 500 parts/,
  'base64 of padding': /base64 goes on after its end/,
  'lines that are almost boundaries': /no part of it can be found/,
};
