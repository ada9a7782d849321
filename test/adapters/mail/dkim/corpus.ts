import type { MailParts } from '../outgoing-mail.ts';

const png = { filename: 'logo.png', contentType: 'image/png', contentId: 'logo@a.test', content: 'iVBORw0KGgo=' };
const large = { filename: 'large.bin', contentType: 'application/octet-stream' };

const calendar = { disposition: 'none' as const, content: 'QkVHSU46VkNBTEVOREFSDQo=', beforeHtml: false };

/** Messages with variations that could break canonicalization, folding or transfer encodings. */
export const CORPUS: Readonly<Record<string, MailParts>> = {
  'a plain one': {},
  'text in 8-bit characters': { text: 'Grüße – 日本 – 🎈  mit\tTab \n' },
  'text that is hardly ASCII': { text: '日本語の長い文章。\n'.repeat(200) },
  'an empty body': { text: '' },
  'a body of line ends alone': { text: '\n\n\r\n\r\n\n' },
  'a body of white space alone': { text: ' \n\t\n  \t \n' },
  'a body that ends in line ends': { text: 'a\n\n\n\n' },
  'a body that begins with line ends': { text: '\n\n\na' },
  'spaces at the ends of lines': { text: 'one \ntwo\t\nthree \t \nfour' },
  'tabs and double spaces': { text: 'a\tb\t\tc  d   e\n\tindented\n    four' },
  'bare dots': { text: '.\n..\n.a\n. \n.' },
  'lines like those of a mailbox file': { text: 'From here\nFrom: there\n>From\n' },
  'bare carriage returns and controls': { text: 'a\rb\u0000c\u000bd\u001be' },
  'lines longer than SMTP carries': { text: `${'x'.repeat(5000)} ${'word '.repeat(1000)}` },
  'the longest line of ASCII': { text: `${'y'.repeat(998)}\n${'z '.repeat(499)}` },
  'html and text': { html: '<table>\n  <tr>\n\t<td>a</td>\n  </tr>\n</table>\n', text: 'a' },
  'an invitation, and AMP': {
    html: '<p>Hi</p>',
    text: 'Hi',
    alternatives: [
      { ...calendar, contentType: 'text/x-amp-html; charset=utf-8', beforeHtml: true },
      { ...calendar, contentType: 'text/calendar; charset=utf-8; method=REQUEST', filename: 'Gr\u00fc\u00dfe.ics' },
    ],
  },
  'a message in a message': {
    attachments: [
      {
        filename: 'Hello.eml',
        contentType: 'message/rfc822',
        disposition: 'attachment',
        content: Buffer.from('From: a@b.test  \r\n\r\n--inner\r\n.\r\n \t\r\n\r\n').toString('base64'),
      },
    ],
  },
  'an invitation alone': { text: '', alternatives: [{ ...calendar, contentType: 'text/calendar; method=REQUEST' }] },
  'a name for recipients, and headers several times': {
    shown: { to: [{ address: '', name: 'Unsere Kunden \u2013 alle, die "so" heißen' }], cc: [] },
    headers: { Keywords: 'one', 'X-A': '1', References: `${'<0123456789.0123456789@a.test> '.repeat(200)}<1@a.test>` },
    repeatedHeaders: [
      { name: 'Keywords', value: 'two\tthree' },
      { name: 'X-A', value: '2' },
    ],
  },
  'html with an image': { html: '<img src="cid:logo@a.test">', text: 'logo', attachments: [png] },
  'attachments of any name': {
    attachments: [
      { ...png, filename: 'Größe "quoted" 🎉 und ein sehr langer Name, der in keine Zeile passt; wirklich nicht.png' },
      { filename: 'empty', contentType: 'nonsense', content: '' },
    ],
  },
  'a large attachment': {
    text: 'see there',
    attachments: [{ ...large, content: Buffer.alloc(3_000_000, 'attachment ').toString('base64') }],
  },
  'a large body': { text: 'Line with  spaces \n'.repeat(50_000) },
  'names and a subject in any alphabet': {
    from: { address: 'from@a.test', name: '🚀 Rakete' },
    recipients: [
      { id: 'rcp_1', kind: 'to', address: 'one@b.test', name: '日本語 '.repeat(20) },
      { id: 'rcp_2', kind: 'cc', address: 'two@b.test', name: 'Two, "the" \\ second' },
    ],
    replyTo: [{ address: 'reply@a.test', name: 'Répondre' }],
    subject: '🎉 Ihre Bestellung – 30 % Rabatt für Sie '.repeat(6),
  },
  'many recipients': {
    recipients: Array.from({ length: 100 }, (_, index) => ({
      id: `rcp_${index}`,
      kind: index % 2 ? ('cc' as const) : ('to' as const),
      address: `person.${index}@b.test`,
      name: `Person  ${index}`,
    })),
    envelopeTo: ['person.0@b.test'],
  },
  'a folded subject': { subject: 'a rather long subject '.repeat(12) },
  'no subject': { subject: '' },
  'white space in and around a subject': { subject: '  two  spaces \t and a tab ' },
  'headers with double spaces, tabs and long lists': {
    headers: {
      'In-Reply-To': '<a@a.test>  <b@a.test>',
      References: Array.from({ length: 30 }, (_, index) => `<${index}.0123456789@a.test>`).join('  '),
      'List-Id': 'The  list\t<list.a.test>',
      'X-Own': 'not signed',
      'REPLY-TO': 'Desk  <desk@a.test>',
    },
  },
  'the same header in two cases': { headers: { References: '<a@a.test>', references: '<b@a.test>' } },
  'ways to unsubscribe and a feedback id': {
    unsubscribe: { url: `https://a.test/${'x'.repeat(300)}`, mailto: 'leave+1@a.test' },
    feedbackId: 'campaign:customer:newsletter:outbox',
  },
  'international addresses, with SMTPUTF8': {
    from: { address: 'jörg@a.test', name: 'Jörg' },
    recipients: [{ id: 'rcp_1', kind: 'to', address: '用户@xn--r8jz45g.xn--zckzah', name: '用户' }],
    replyTo: [{ address: 'ü@a.test' }],
  },
};
