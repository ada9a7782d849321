import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type CapturedMail, INBOX_SHOWN_BYTES_MAX, type Inbox } from '../../../src/domain/ports/mail.ts';
import { mailOf, RECEIVED_AT, useInboxes } from './inboxes.ts';

const WITH_ATTACHMENT = [
  'From: =?UTF-8?Q?J=C3=B6rg?= <from@a.test>',
  'X-Mixed-Case: =?UTF-8?B?w7xi?=',
  ' =?UTF-8?Q?er?=',
  'Subject: parts',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p>x</p>',
  '--b',
  'Content-Type: image/png; name=x.png',
  'Content-Disposition: inline; filename=x.png',
  'Content-ID: <logo@a.test>',
  'Content-Transfer-Encoding: base64',
  '',
  'iVBORw0KGgo=',
  '--b--',
  '',
].join('\r\n');

const sourceOf = async (inbox: Inbox, mail: CapturedMail): Promise<string> =>
  (await buffer(inbox.source(mail))).toString('utf8');

const { kinds } = useInboxes();

describe.each(kinds)('contents of mail in an inbox %s', (_, open) => {
  const newest = async (inbox: Inbox): Promise<CapturedMail> => {
    const [mail] = (await inbox.list({ limit: 1 })).mails;
    if (mail === undefined) throw new Error('the inbox is empty');
    return mail;
  };

  it('lists a message without its contents, and shows them one at a time', async () => {
    const inbox = await open();
    await inbox.store(mailOf('', { to: ['a@b.test', '"\\@c.test'], raw: Buffer.from(WITH_ATTACHMENT) }));
    const mail = await newest(inbox);
    expect(mail).toEqual({
      id: expect.any(String),
      receivedAt: RECEIVED_AT,
      envelope: { from: 'from@a.test', to: ['a@b.test', '"\\@c.test'] },
      subject: 'parts',
      sizeBytes: WITH_ATTACHMENT.length,
      attachments: [{ filename: 'x.png', contentType: 'image/png', sizeBytes: 8 }],
      isConfidential: false,
    });
    expect(await inbox.content(mail, 'org_a')).toEqual({
      headers: [
        { name: 'From', value: 'Jörg <from@a.test>' },
        { name: 'X-Mixed-Case', value: 'über' },
        { name: 'Subject', value: 'parts' },
        { name: 'Content-Type', value: 'multipart/mixed; boundary=b' },
      ],
      text: null,
      html: '<p>x</p>',
      truncated: false,
    });
    expect(await sourceOf(inbox, mail)).toBe(WITH_ATTACHMENT);
    const attachment = await inbox.attachment(mail, 0, 'org_a');
    expect(Buffer.from(attachment ?? []).toString('base64')).toBe('iVBORw0KGgo=');
    expect(await inbox.attachment(mail, 1, 'org_a')).toBeNull();
    await inbox.remove({});
    expect([await inbox.content(mail, 'org_a'), await inbox.attachment(mail, 0, 'org_a')]).toEqual([null, null]);
    await expect(sourceOf(inbox, mail)).rejects.toThrow();
  });

  it('cuts long texts, and streams all of a large message', async () => {
    const inbox = await open();
    const body = 'ü'.repeat(40).concat('\r\n').repeat(20_000);
    const raw = Buffer.from(`Subject: long\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${body}`);
    await inbox.store(mailOf('', { raw }));
    const mail = await newest(inbox);
    const content = await inbox.content(mail, 'org_a');
    expect(content).toMatchObject({ html: null, truncated: true });
    expect(Buffer.byteLength(content?.text ?? '')).toBeGreaterThan(INBOX_SHOWN_BYTES_MAX - 4);
    expect(Buffer.byteLength(content?.text ?? '')).toBeLessThanOrEqual(INBOX_SHOWN_BYTES_MAX);
    expect(content?.text).not.toContain('\ufffd');
    expect(await sourceOf(inbox, mail)).toBe(raw.toString());
  });

  it('recognises confidential messages by a header of their own', async () => {
    const inbox = await open();
    for (const head of ['x-outbox-CONFIDENTIAL: yes\r\nSubject: a', 'Subject: b\r\n\r\nX-Outbox-Confidential: yes'])
      await inbox.store(mailOf('', { raw: Buffer.from(`${head}\r\n\r\nHi\r\n`) }));
    const { mails } = await inbox.list({ limit: 10 });
    expect(mails.map(({ subject, isConfidential }) => [subject, isConfidential])).toEqual([
      ['b', false],
      ['a', true],
    ]);
  });

  it('stores subjects and names that no database accepts', async () => {
    const inbox = await open();
    const long = 'x'.repeat(3_000);
    const raw = [
      `Subject: =?utf-8?B?${Buffer.from('a\0b').toString('base64')}?= ${long}`,
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      `Content-Type: a/b; name="=?utf-8?B?${Buffer.from(`${'x'.repeat(254)}😀`).toString('base64')}?="`,
      '',
      'x',
      '--b--',
    ].join('\r\n');
    await inbox.store(mailOf('', { raw: Buffer.from(raw) }));
    const { subject, attachments } = await newest(inbox);
    expect(subject?.slice(0, 3)).toBe('a\ufffdb');
    expect(subject).toHaveLength(1_000);
    expect(attachments[0]?.filename).toBe(`${'x'.repeat(254)}\ufffd`);
  });

  it('keeps bytes that are not UTF-8, and mail that cannot be parsed', async () => {
    const inbox = await open();
    const nested = Array.from(
      { length: 300 },
      (_level, index) => `Content-Type: multipart/mixed; boundary=b${index}\r\n\r\n--b${index}\r\n`,
    );
    await inbox.store(mailOf('', { raw: Buffer.from([0xff, 0x00, 0xfe]) }));
    await inbox.store(mailOf('', { from: '', raw: Buffer.from(nested.join('')) }));
    await inbox.store(mailOf('', { raw: new Uint8Array() }));
    const { mails } = await inbox.list({ limit: 10 });
    const sources = await Promise.all(mails.map((mail) => sourceOf(inbox, mail)));
    expect(sources).toEqual(['', nested.join(''), '\ufffd\0\ufffd']);
    const contents = await Promise.all(mails.map((mail) => inbox.content(mail, 'org_a')));
    expect(contents.map((content) => content?.html)).toEqual([null, null, null]);
    expect(mails[1]?.envelope.from).toBe('');
  });
});
