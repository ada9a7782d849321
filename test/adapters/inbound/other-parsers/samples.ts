import { createHash } from 'node:crypto';

/**
 * Mails of odd shapes, as senders of all kinds write them. Every character of a sample is one octet: text in UTF-8 is
 * given by `utf8`. Line ends are CRLF on the wire.
 */

export interface Sample {
  readonly name: string;
  readonly raw: Buffer;
}

const samples: Sample[] = [];

/** @param text with LF line ends; each character is one octet. */
const sample = (name: string, text: string): void => {
  samples.push({ name, raw: Buffer.from(text.replace(/\r?\n/g, '\r\n'), 'latin1') });
};
/** A mail whose line ends are its own. */
const exact = (name: string, text: string): void => {
  samples.push({ name, raw: Buffer.from(text, 'latin1') });
};

const utf8 = (text: string): string => Buffer.from(text).toString('latin1');
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
const wrapped = (text: string): string => base64(text).replace(/.{60}/g, '$&\n');
/** Octets that no charset makes into text, the same on each run. */
const octets = (count: number): string => {
  let bytes = Buffer.alloc(0);
  for (let at = 0; bytes.length < count; at += 1)
    bytes = Buffer.concat([bytes, createHash('sha256').update(String(at)).digest()]);
  return bytes.subarray(0, count).toString('latin1');
};

const TOP = 'From: Ann Lee <ann@example.net>\nTo: support@shop.test\nSubject: Order 7\n';
const MIME = `${TOP}MIME-Version: 1.0\n`;
const typed = (type: string, body: string, encoding = '8bit'): string =>
  `${MIME}Content-Type: ${type}\nContent-Transfer-Encoding: ${encoding}\n\n${body}`;
const multi = (type: string, ...parts: readonly string[]): string =>
  `${MIME}Content-Type: multipart/${type}; boundary="=_b1"\n\n${parts.map((part) => `--=_b1\n${part}\n`).join('')}--=_b1--\n`;
const TEXT = 'Content-Type: text/plain; charset=us-ascii\n\nPlease see below.';
const HTML = 'Content-Type: text/html; charset=us-ascii\n\n<p>Please see <b>below</b>.</p>';
const file = (fields: string, body = base64('%PDF-1.4 sample')): string =>
  `${fields}\nContent-Transfer-Encoding: base64\n\n${body}`;
const named = (disposition: string): string =>
  multi('mixed', TEXT, file(`Content-Type: application/pdf\nContent-Disposition: ${disposition}`));
const typeNamed = (type: string): string => multi('mixed', TEXT, file(`Content-Type: ${type}`));
const subject = (value: string): string => `From: ann@example.net\nTo: support@shop.test\nSubject: ${value}\n\nHi\n`;
const from = (value: string): string => `From: ${value}\nTo: support@shop.test\nSubject: x\n\nHi\n`;

// Mails without MIME
sample('plain text', `${TOP}\nWhere is my order?\n\nAnn\n`);
sample('no body and no empty line', TOP);
sample('an empty body', `${TOP}\n`);
sample('only a body', '\nNo header at all\n');
sample('no final line end', `${TOP}\nthe end`);
sample('8-bit text in UTF-8 without MIME', `${TOP}\n${utf8('Grüße aus Köln')}\n`);
sample('8-bit text in Latin-1 without MIME', `${TOP}\nGr\xfc\xdfe aus K\xf6ln\n`);
exact('bare line feeds', `${TOP}\nfirst\nsecond\n`);
exact('mixed line ends', `${TOP.replaceAll('\n', '\r\n')}\r\nfirst\nsecond\r\nthird\n`);
sample('lines of dots', `${TOP}\n.\n..\nend\n`);
sample('a line of 5,000 characters', `${TOP}\n${'word '.repeat(1_000)}\nend\n`);
sample('a uuencoded file in the text', `${TOP}\nSee it:\n\nbegin 644 a.txt\n#0V%T\n\`\nend\n`);
sample('tabs and trailing spaces', `${TOP}\n\tindented  \nend\n`);
sample('an mbox line before the header', `From ann@example.net Sat Jan  3 01:05:34 1996\n${TOP}\nHi\n`);
sample('a line that is no field', `From: ann@example.net\nnot a field\nSubject: after it\n\nHi\n`);
sample('a form feed and a vertical tab', `${TOP}\none\x0ctwo\x0bthree\n`);

// Subjects (RFC 2047)
sample('a subject in Q', subject('=?utf-8?Q?Gr=C3=BC=C3=9Fe?='));
sample('a subject in B', subject('=?UTF-8?B?44GT44KT44Gr44Gh44Gv?='));
sample('a subject in two words', subject('=?utf-8?Q?Gr=C3=BC=C3=9Fe?= =?utf-8?Q?_aus_K=C3=B6ln?='));
sample('a subject in two words of two charsets', subject('=?iso-8859-1?Q?caf=E9?=\n =?koi8-r?B?8NLJ18XU?='));
sample('a character divided between two words', subject('=?utf-8?B?4oI=?=\n =?utf-8?B?rA==?='));
sample('words between plain text', subject('Re: =?iso-8859-15?Q?=A4?= 20 for you'));
sample('a word with a language', subject('=?utf-8*de?Q?Stra=C3=9Fe?='));
sample('a subject in gb18030', subject('=?gb18030?B?xOO6ww==?='));
sample('a subject in ISO-2022-JP', subject('=?ISO-2022-JP?B?GyRCJDMkcxsoQg==?='));
sample('a subject in Shift_JIS', subject('=?Shift_JIS?B?grGC8YLJgr+CzQ==?='));
sample('a subject in EUC-KR', subject('=?euc-kr?B?vsiz5w==?='));
sample('a subject in Windows-1251', subject('=?windows-1251?Q?=CF=F0=E8=E2=E5=F2?='));
sample('a word of an unknown charset', subject('=?x-unheard?Q?abc?='));
sample('a word without an end', subject('=?utf-8?Q?abc'));
sample('a word with spaces inside', subject('=?utf-8?Q?two words?='));
sample('a word that touches text', subject('a=?utf-8?Q?b?=c'));
sample('a subject in raw UTF-8 (RFC 6532)', subject(utf8('Grüße 😀')));
sample('a folded subject', subject('a subject that is\n folded\n\ttwice'));
sample('a folded subject with an empty rest', subject('a\n \n b'));
sample('two subjects', `${TOP}Subject: another\n\nHi\n`);
sample('an empty subject', subject(''));
sample('a field name in capitals and a space before the colon', 'FROM: ann@example.net\nSUBJECT : shouted\n\nHi\n');

// Senders
sample('a quoted name with a comma', from('"Lee, Ann" <ann@example.net>'));
sample('a quoted name with quotes', from('"Ann \\"A\\" Lee" <ann@example.net>'));
sample('a comment as name', from('ann@example.net (Ann Lee)'));
sample('an encoded name', from('=?utf-8?Q?J=C3=BCrgen?= <j@example.net>'));
sample('an encoded name with a comma', from('=?utf-8?Q?Lee=2C_Ann?= <ann@example.net>'));
sample('two senders', from('Ann <ann@example.net>, bob@example.org'));
sample('a group', from('Team: ann@example.net, Bob <bob@example.org>;'));
sample('no sender', 'To: support@shop.test\nSubject: x\n\nHi\n');
sample('an empty sender', from('<>'));
sample('a quoted local part', from('"ann lee"@example.net'));
sample('a name in raw UTF-8', from(`${utf8('Jürgen')} <j@example.net>`));
sample('an address in raw UTF-8', from(utf8('jürgen@exämple.net')));
sample('a folded sender', from('A Very Long Name\n <ann@example.net>'));
sample('a domain literal', from('ann@[192.0.2.1]'));

// Charsets
sample('ISO-8859-1', typed('text/plain; charset=iso-8859-1', 'caf\xe9\n'));
sample('Windows-1252 labelled ISO-8859-1', typed('text/plain; charset=iso-8859-1', '\x93quoted\x94 \x80 5\n'));
sample('UTF-8 labelled US-ASCII', typed('text/plain; charset=us-ascii', utf8('Grüße\n')));
sample('Latin-1 labelled UTF-8', typed('text/plain; charset=utf-8', 'caf\xe9\n'));
sample('gb18030', typed('text/plain; charset=gb18030', '\xc4\xe3\xba\xc3\n'));
sample('gb2312 with characters of gbk', typed('text/plain; charset=gb2312', '\xe9F\xba\xc3\n'));
sample('big5', typed('text/plain; charset=big5', '\xa7A\xa6n\n'));
sample('ISO-2022-JP', typed('text/plain; charset=iso-2022-jp', '\x1b$B$3$s$K$A$O\x1b(B\n', '7bit'));
sample('EUC-JP', typed('text/plain; charset=euc-jp', '\xa4\xb3\xa4\xf3\n'));
sample('KOI8-R', typed('text/plain; charset=koi8-r', '\xf0\xd2\xc9\xd7\xc5\xd4\n'));
sample('UTF-7', typed('text/plain; charset=utf-7', 'Gr+APwA3w-e\n', '7bit'));
sample('UTF-16', typed('text/plain; charset=utf-16le', base64('H\0i\0\n\0'), 'base64'));
sample('ISO-8859-8-I', typed('text/plain; charset=iso-8859-8-i', '\xf9\xec\xe5\xed\n'));
sample('a charset in quotes and capitals', typed('text/plain; charset="ISO-8859-15"', '\xa4 5\n'));
sample('an unknown charset', typed('text/plain; charset=x-unheard', 'plain all the same\n'));
sample('a byte order mark', typed('text/plain; charset=utf-8', '\xef\xbb\xbfHi\n'));

// Transfer encodings
sample('quoted-printable', typed('text/plain; charset=utf-8', 'caf=C3=A9 =\nand more=20\n=3D\n', 'quoted-printable'));
sample('quoted-printable with errors', typed('text/plain; charset=utf-8', 'a=ZZ b=4 c=\n', 'quoted-printable'));
sample('quoted-printable in small letters', typed('text/plain; charset=utf-8', 'caf=c3=a9\n', 'Quoted-Printable'));
sample('base64', typed('text/plain; charset=utf-8', `${wrapped(utf8('Grüße aus Köln, '.repeat(9)))}\n`, 'BASE64'));
sample('base64 with junk', typed('text/plain', `${base64('one two three').replace(/.{5}/g, '$& *\n')}\n`, 'base64'));
sample('base64 without padding', typed('text/plain', 'T25lIHR3bw\n', 'base64'));
sample('base64 followed by text', typed('text/plain', `${base64('one two')}\n\n-- \nlist.test\n`, 'base64'));
sample('an unknown encoding', typed('text/plain', 'as it is\n', 'x-nothing'));
sample('an encoding with a comment', typed('text/plain', `${base64('one')}\n`, 'base64 (of course)'));
sample('uuencode as an encoding', typed('text/plain', 'begin 644 a.txt\n#0V%T\n`\nend\n', 'x-uuencode'));

// Multiparts
sample('alternatives', multi('alternative', TEXT, HTML));
sample('html alone', typed('text/html; charset=utf-8', utf8('<p>Grüße</p>\n')));
sample('a text and a file', named('attachment; filename="report.pdf"'));
sample('a preamble and an epilogue', multi('mixed', TEXT).replace('--=_b1', 'preamble\n--=_b1').concat('epilogue\n'));
sample(
  'no closing boundary',
  multi('mixed', TEXT, file('Content-Type: image/png; name=a.png')).replace('--=_b1--', ''),
);
sample('no boundary parameter', `${MIME}Content-Type: multipart/mixed\n\n--x\n\nHi\n--x--\n`);
sample('a boundary that never occurs', `${MIME}Content-Type: multipart/mixed; boundary=x\n\nHi all\n`);
sample('a boundary with trailing spaces', multi('alternative', TEXT, HTML).replaceAll('--=_b1\n', '--=_b1  \n'));
sample('a boundary that begins another', multi('mixed', `${TEXT}\n--=_b12\nstill the text`));
sample('an empty part', multi('mixed', TEXT, ''));
sample('a part without header fields', multi('mixed', '\nno fields', file('Content-Type: image/gif; name=a.gif')));
sample('related with an image by cid', multi('related', HTML, file('Content-Type: image/png\nContent-ID: <a@b>')));
sample(
  'a root that is not the first',
  `${multi('related', file('Content-Type: image/png\nContent-ID: <i@b>'), `Content-ID: <r@b>\n${HTML}`).replace('boundary=', 'start="<r@b>"; boundary=')}`,
);
sample(
  'nested multiparts',
  multi(
    'mixed',
    `Content-Type: multipart/alternative; boundary=in\n\n--in\n${TEXT}\n--in\n${HTML}\n--in--`,
    file('Content-Type: image/png; name=a.png'),
  ),
);
sample(
  'an inner boundary equal to the outer',
  multi('mixed', `Content-Type: multipart/alternative; boundary="=_b1"\n\n--=_b1\n${TEXT}`),
);
sample('a mail in a mail', multi('mixed', TEXT, `Content-Type: message/rfc822\n\n${TOP}\nforwarded\n`));
sample(
  'a mail in a mail in a mail',
  multi('mixed', TEXT, `Content-Type: message/rfc822\n\n${MIME}Content-Type: message/rfc822\n\n${TOP}\ndeep\n`),
);
sample('a mail in base64', multi('mixed', TEXT, file('Content-Type: message/rfc822', base64(`${TOP}\nforwarded\n`))));
sample('a digest', multi('digest', `\n${TOP}\nfirst\n`, `\n${TOP}\nsecond\n`));
sample(
  'an invitation',
  multi('alternative', TEXT, HTML, 'Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR\nEND:VCALENDAR'),
);
sample(
  'a report of a failed delivery',
  multi(
    'report; report-type=delivery-status',
    TEXT,
    'Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n\nFinal-Recipient: rfc822; a@b.test\nAction: failed\nStatus: 5.1.1',
    `Content-Type: text/rfc822-headers\n\n${TOP}`,
  ),
);
sample(
  'a PGP message',
  multi(
    'encrypted; protocol="application/pgp-encrypted"',
    'Content-Type: application/pgp-encrypted\n\nVersion: 1',
    'Content-Type: application/octet-stream; name="encrypted.asc"\n\n-----BEGIN PGP MESSAGE-----\n-----END PGP MESSAGE-----',
  ),
);
sample(
  'a signed text',
  multi(
    'signed; micalg=sha-256; protocol="application/pkcs7-signature"',
    TEXT,
    file('Content-Type: application/pkcs7-signature; name="smime.p7s"'),
  ),
);
sample(
  'an AppleDouble file',
  multi(
    'mixed',
    TEXT,
    `Content-Type: multipart/appledouble; boundary=in\n\n--in\n${file('Content-Type: application/applefile; name="%a"', base64('\0\x05\x16\x07'))}\n--in\n${file('Content-Type: image/jpeg; name="a.jpg"')}\n--in--`,
  ),
);
sample(
  'a winmail.dat',
  multi(
    'mixed',
    TEXT,
    file(
      'Content-Type: application/ms-tnef; name="winmail.dat"\nContent-Disposition: attachment; filename="winmail.dat"',
      base64('\x78\x9f\x3e\x22\x01\0'),
    ),
  ),
);
sample(
  'a text file after the text',
  multi(
    'mixed',
    TEXT,
    'Content-Type: text/plain; name="notes.txt"\nContent-Disposition: attachment; filename="notes.txt"\n\nnotes',
  ),
);
sample('a text above html', multi('mixed', TEXT, HTML));
sample('two texts below each other', multi('mixed', TEXT, 'Content-Type: text/plain\n\nA footer of a list.'));
sample(
  'a file of random octets',
  multi('mixed', TEXT, file('Content-Type: application/octet-stream; name=r.bin', wrapped(octets(5_000)))),
);
sample(
  'a file in 8bit',
  multi(
    'mixed',
    TEXT,
    `Content-Type: application/octet-stream; name=r.bin\nContent-Transfer-Encoding: 8bit\n\n\x01\x02caf\xe9`,
  ),
);
sample(
  'a file in quoted-printable',
  multi(
    'mixed',
    TEXT,
    'Content-Type: text/csv; name=a.csv\nContent-Disposition: attachment\nContent-Transfer-Encoding: quoted-printable\n\na;b=0D=0A1;2=\n;3',
  ),
);
sample('an empty file', multi('mixed', TEXT, file('Content-Type: application/pdf; name="empty.pdf"', '')));
sample('a type without a subtype', typed('text', 'Hi\n'));
sample('a type that is no type', typed('???', 'Hi\n'));
sample('two types', `${MIME}Content-Type: text/plain; charset=utf-8\nContent-Type: text/html\n\nHi\n`);
sample(
  'format=flowed',
  typed('text/plain; format=flowed; charset=us-ascii', 'a paragraph that \nflows.\n\n> quoted \n> text\n-- \nAnn\n'),
);

// Names of files (RFC 2231, and what others write)
sample('a name of RFC 2231', named("attachment; filename*=UTF-8''%e2%82%ac%20rates.pdf"));
sample('a name in pieces', named('attachment; filename*0="a very "; filename*1="long name.pdf"'));
sample('a name in encoded pieces', named("attachment; filename*0*=utf-8''%e2%82; filename*1*=%ac; filename*2=.pdf"));
sample('pieces in another order', named('attachment; filename*1="b.pdf"; filename*0="a"'));
sample('both kinds of names', named('attachment; filename="EUR.pdf"; filename*=utf-8\'\'%e2%82%ac.pdf'));
sample('an encoded word as name', named('attachment; filename="=?utf-8?Q?=C3=84pfel.pdf?="'));
sample('an encoded word without quotes', named('attachment; filename==?utf-8?B?w4RwZmVsLnBkZg==?='));
sample('a name in raw UTF-8', named(utf8('attachment; filename="Äpfel.pdf"')));
sample('a name with a folder', named('attachment; filename="../../etc/passwd"'));
sample('a name with a drive', named('attachment; filename="C:\\\\Users\\\\ann\\\\a.pdf"'));
sample('a name without quotes', named('attachment; filename=a report.pdf'));
sample('a name with a semicolon', named('attachment; filename="a;b.pdf"'));
sample('a name with quotes', named('attachment; filename="a\\"b.pdf"'));
sample('a name without its closing quote', named('attachment; filename="a.pdf'));
sample('an empty name', named('attachment; filename=""'));
sample('an unknown disposition', named('x-kept; filename=a.pdf'));
sample('a disposition in capitals', named('ATTACHMENT; FILENAME=a.pdf'));
sample('a name in the type', typeNamed('application/pdf; name="type.pdf"'));
sample('an encoded name in the type', typeNamed("application/pdf; name*=iso-8859-1'en'caf%E9.pdf"));
sample('a type with a comment', typeNamed('application/pdf (a file); name=a.pdf'));
sample('a folded name', named('attachment;\n filename="folded\n name.pdf"'));

export const SAMPLES: readonly Sample[] = samples;
