import { readFile } from 'node:fs/promises';
import { type Attachment, simpleParser } from 'mailparser';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Submitting, startSubmitting } from './support/submitting.ts';

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting();
});
afterAll(() => submitting.close());

type Tree = string | readonly Tree[];

/** Media types of a composed message. A multipart is a list that starts with its own type. */
const treeOf = (entity: string): Tree => {
  const at = entity.indexOf('\r\n\r\n');
  const head = entity.slice(0, at).replace(/\r\n[ \t]+/g, ' ');
  const [, type = ''] = /^Content-Type: ([^;\s]+)/im.exec(head) ?? [];
  const [, boundary] = /boundary="([^"]+)"/.exec(head) ?? [];
  if (boundary === undefined) return type;
  const parts = `\r\n${entity.slice(at + 4)}`.split(`\r\n--${boundary}`).slice(1, -1);
  return [type, ...parts.map((part) => treeOf(part.slice(2)))];
};

/** Submits a message as a mail program wrote it, and parses the result with other parsers. */
const through = async (name: string) => {
  const lines = await readFile(new URL(`../fixtures/submissions/${name}.eml`, import.meta.url), 'utf8');
  const sent = Buffer.from(lines.replace(/\n/g, '\r\n'));
  const reply = await submitting.sendRaw(sent.subarray(0, -2));
  expect(reply).toMatch(/^250 2\.0\.0 Ok: queued as msg_/);
  const raw = await submitting.composed(reply);
  const [before, after] = await Promise.all([sent, raw].map((one) => simpleParser(one, { skipImageLinks: true })));
  if (before === undefined || after === undefined) throw new Error('not parsed');
  return {
    raw: raw.toString('latin1'),
    tree: treeOf(raw.toString('latin1')),
    before,
    after,
    reply,
    postal: await PostalMime.parse(raw, { attachmentEncoding: 'base64' }),
    stored: await submitting.stored(reply),
  };
};

const typeOf = ({ headers }: Attachment): unknown => headers.get('content-type');

/** Content, type with parameters, name and disposition of each attachment. */
const told = (attachments: readonly Attachment[]) =>
  attachments
    .map((each) => ({
      bytes: each.content.toString('base64'),
      type: typeOf(each),
      name: each.filename,
      disposition: each.contentDisposition,
    }))
    .toSorted((one, other) => one.bytes.localeCompare(other.bytes));

const CALENDAR = /^BEGIN:VCALENDAR\r\n[\s\S]*ATTENDEE;[^\r]*:mailto:\r\n bob@example\.org\r\n[\s\S]*END:VCALENDAR\r\n$/;

describe('an invitation arrives byte for byte', () => {
  test.each<[string, Tree, object]>([
    [
      'outlook-invitation',
      ['multipart/alternative', 'text/plain', 'text/html', 'text/calendar'],
      { charset: 'utf-8', method: 'REQUEST' },
    ],
    [
      'google-invitation',
      ['multipart/mixed', ['multipart/alternative', 'text/plain', 'text/html', 'text/calendar'], 'application/ics'],
      { charset: 'UTF-8', method: 'REQUEST' },
    ],
    [
      'php-mailer',
      ['multipart/mixed', ['multipart/alternative', 'text/plain', 'text/html', 'text/calendar'], 'text/xml'],
      { charset: 'us-ascii', method: 'REQUEST' },
    ],
    ['calendar-alone', 'text/calendar', { charset: 'utf-8', method: 'REQUEST', component: 'vevent' }],
  ])('%s', async (name, tree, params) => {
    const { after, postal, stored, raw, tree: composed } = await through(name);
    expect(composed).toEqual(tree);
    const [alternative] = stored.alternatives ?? [];
    expect(
      Buffer.from(alternative?.content ?? '', 'base64')
        .toString()
        .trimEnd()
        .concat('\r\n'),
    ).toMatch(CALENDAR);
    const calendar = after.attachments.find(({ contentType }) => contentType === 'text/calendar');
    if (calendar !== undefined) expect(typeOf(calendar)).toMatchObject({ params });
    expect(postal.attachments.find(({ mimeType }) => mimeType === 'text/calendar')).toMatchObject({
      method: 'REQUEST',
      disposition: null,
    });
    expect(raw).not.toContain('Content-Disposition: attachment\r\n');
  });

  test('and AMP stays between text and html', async () => {
    const { tree, postal } = await through('amp');
    expect(tree).toEqual(['multipart/alternative', 'text/plain', 'text/x-amp-html', 'text/html']);
    const [amp] = postal.attachments;
    expect(Buffer.from(String(amp?.content), 'base64').toString()).toContain('<html ⚡4email data-css-strict>');
  });

  test('by nodemailer, with AMP and another alternative, keeps their order', async () => {
    const content = 'BEGIN:VCALENDAR\r\nSUMMARY:Grüße\r\nEND:VCALENDAR\r\n';
    const reply = await submitting.send({
      to: 'bob@example.org',
      text: 'Hi',
      html: '<p>Hi</p>',
      amp: '<html ⚡4email></html>',
      icalEvent: { method: 'REQUEST', content },
      alternatives: [{ contentType: 'text/x-markdown', content: '*Hi*' }],
    });
    const raw = await submitting.composed(reply);
    expect(treeOf(raw.toString('latin1'))).toEqual([
      'multipart/mixed',
      ['multipart/alternative', 'text/plain', 'text/x-amp-html', 'text/html', 'text/calendar', 'text/x-markdown'],
      'application/ics',
    ]);
    const { attachments } = await simpleParser(raw);
    const calendars = attachments.filter(({ contentType }) => /calendar|ics/.test(contentType));
    expect(calendars.map((each) => each.content.toString())).toEqual([content, content]);
  });

  test('is shown by the API beside text and html', async () => {
    const { reply } = await through('outlook-invitation');
    const shown = await submitting.shown(reply);
    expect(shown.alternatives).toMatchObject([{ content_type: 'text/calendar; charset=utf-8; method=REQUEST' }]);
    expect(shown.attachments).toEqual([]);
  });
});

describe('the attachments of a mail program keep their bytes, type with all parameters, name and disposition', () => {
  test.each([
    'apple-mail',
    'gmail',
    'google-invitation',
    'java-mail',
    'mutt',
    'outlook-related',
    'php-mailer',
    'python-email',
    'thunderbird',
  ])('%s', async (name) => {
    const { before, after } = await through(name);
    const expected = told(before.attachments);
    expect(expected.length).toBeGreaterThan(0);
    const withoutNames = (list: ReturnType<typeof told>) =>
      list.map(({ type, name: filename, ...rest }) => {
        const { value, params } = type as { value: string; params: Record<string, string> };
        const { name: _, ...others } = params;
        return { ...rest, value, others, filename: filename ?? 'attachment-1' };
      });
    expect(withoutNames(told(after.attachments))).toEqual(withoutNames(expected));
  });

  test('so that programs can read the charset of a CSV file and apply a patch', async () => {
    const { after } = await through('thunderbird');
    const [prices, patch] = after.attachments;
    expect(new TextDecoder('iso-8859-15').decode(prices?.content)).toBe('item;price\r\ntea;3,50 €\r\n');
    expect(patch?.content.toString()).toBe('--- a/file\r\n+++ b/file\r\n@@ -1 +1 @@\r\n-old \r\n+new\r\n');
  });
});

describe('readers see what the sender wrote', () => {
  test('Outlook: a folded subject, images in the html, names in Latin-1', async () => {
    const { after, tree } = await through('outlook-related');
    expect(after.subject).toBe('Angebot für März: ein langer Betreff, der auf mehrere Zeilen verteilt ist');
    expect(after.to).toMatchObject({ text: '"Jones, Bob" <bob@example.org>, "Carol" <carol@example.org>' });
    expect(after.html).toContain('cid:image001.png@01DB3CF7.BB5E4A20');
    expect(tree).toEqual([
      'multipart/mixed',
      ['multipart/alternative', 'text/plain', ['multipart/related', 'text/html', 'image/png']],
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    ]);
  });

  test('Apple Mail: text before and after a file becomes one body', async () => {
    const { after } = await through('apple-mail');
    expect(String(after.html).match(/<html|<body|<\/body|<\/html/g)).toEqual(['<html', '<body', '</body', '</html']);
    expect(after.html).toMatch(/Before[\s\S]*After…/);
    expect(after.text).toContain('After…');
  });

  test('Thunderbird: paragraphs and quotes of flowed text stay whole', async () => {
    const { after } = await through('thunderbird');
    expect(after.text).toContain(
      [
        'On 21/11/2026 10:00, Bob Jones wrote:',
        '> This is a quoted line that is long enough to be wrapped by a program which writes flowed text, and it ends here.',
        '>',
        '>> An older one of two lines.',
        'My answer ü is also a paragraph of more than one line, and goes on in the second one.',
        '-- ',
        'Ann',
      ].join('\n'),
    );
  });

  test('Gmail: signatures of earlier servers, which would be broken, are removed, and everything else stays', async () => {
    const { raw } = await through('gmail');
    expect(raw).not.toMatch(/^(?:ARC-|Authentication-Results|X-Received|Received)/im);
    expect(raw).toContain('\r\nX-Gm-Message-State: AOJu0YxExample\r\n');
    expect(raw).toContain('\r\nReferences: <a@mail.gmail.com> <b@mail.gmail.com>\r\n');
  });

  test('a message that is forwarded as an attachment stays a message, byte for byte', async () => {
    const { after, raw, tree, stored } = await through('forwarded');
    expect(tree).toEqual(['multipart/mixed', 'text/plain', 'message/rfc822']);
    expect(raw).toContain(
      '\r\nContent-Transfer-Encoding: 7bit\r\nContent-Disposition: attachment;\r\n filename=Hello.eml\r\n',
    );
    const [forwarded] = stored.attachments;
    const inner = Buffer.from(forwarded?.content ?? '', 'base64').toString();
    expect(raw).toContain(`\r\n\r\n${inner}\r\n--=_`);
    expect(inner).toMatch(/^From: Carol[\s\S]*--inner--\r\n$/);
    expect(after.attachments).toMatchObject([{ contentType: 'message/rfc822', filename: 'Hello.eml' }]);
  });

  test('cron: a name without an address is shown, and repeated headers are kept', async () => {
    const { raw, after } = await through('cron');
    expect(raw).toContain('\r\nTo: root:;\r\n');
    expect(raw.match(/^X-Cron-Env: .*$/gm)).toEqual([
      'X-Cron-Env: <SHELL=/bin/sh>',
      'X-Cron-Env: <HOME=/root>',
      'X-Cron-Env: <LOGNAME=root>',
    ]);
    expect(after.text).toBe('backup failed\n');
  });
});
