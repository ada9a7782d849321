import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Submitting, startSubmitting } from './support/submitting.ts';

let submitting: Submitting;
beforeAll(async () => {
  submitting = await startSubmitting();
});
afterAll(() => submitting.close());

const kindsOf = async (reply: string) =>
  (await submitting.shown(reply)).recipients.map(({ address, kind }) => [kind, address]);

/** The header as sent. */
const headerOf = async (reply: string): Promise<string> =>
  (await submitting.composed(reply)).toString('utf8').split('\r\n\r\n')[0] ?? '';

describe('a submitted message', () => {
  test.each([
    ['no subject', ''],
    ['an empty subject', 'Subject:\r\n'],
    ['a subject of white space', 'Subject: \r\n\t \r\n'],
  ])('may have %s', async (_what, subject) => {
    const reply = await submitting.sendRaw(`From: ann@example.test\r\n${subject}To: bob@example.org\r\n\r\nHi`);
    expect(await submitting.shown(reply)).toMatchObject({ subject: '', text: 'Hi' });
    expect(await headerOf(reply)).toContain('\r\nSubject: \r\n');
  });

  test.each([
    ['undisclosed-recipients:;', 'undisclosed-recipients:;'],
    ['Our customers:;', 'Our customers:;'],
    ['undisclosed recipients', 'undisclosed recipients:;'],
    ['root@server1', 'root@server1'],
    ['"Root, of all" <root@[192.0.2.1]>', '"\\"Root, of all\\" <root@[192.0.2.1]>":;'],
    ['<>', 'undisclosed-recipients:;'],
    ['Bob Jones <bob@example.org>, the others', 'Bob Jones <bob@example.org>,\r\n the others:;'],
  ])('may have %s as recipients in its headers, whatever its envelope', async (to, shown) => {
    const reply = await submitting.sendRaw(`From: ann@example.test\r\nTo: ${to}\r\nSubject: x\r\n\r\nHi`, [
      'dan@example.org',
    ]);
    expect(await kindsOf(reply)).toEqual([['bcc', 'dan@example.org']]);
    expect(await headerOf(reply)).toContain(`\r\nTo: ${shown}\r\n`);
  });

  test.each([
    ['an encoded comma', '=?utf-8?Q?Doe=2C_J?= <bob@example.org>', '"Doe, J" <bob@example.org>'],
    ['a comma in an encoded word', '=?utf-8?q?Doe,_J?= <bob@example.org>', '"Doe, J" <bob@example.org>'],
    [
      'a comma and a space',
      '=?utf-8?q?Doe, J=C3=BCrg?= <bob@example.org>',
      '=?UTF-8?Q?Doe=2C_J=C3=BCrg?= <bob@example.org>',
    ],
    ['a comma in Base64', '=?utf-8?b?RG9lLCBK?= <bob@example.org>', '"Doe, J" <bob@example.org>'],
    [
      'brackets and quotes',
      '=?us-ascii?Q?J_"<e@x.test>"?= <bob@example.org>',
      '"J \\"<e@x.test>\\"" <bob@example.org>',
    ],
    ['an unquoted comma', 'Doe, J <bob@example.org>', '"Doe, J" <bob@example.org>'],
  ])('keeps every address if names have %s', async (_what, written, shown) => {
    const others = '=?utf-8?q?K,_R.?= <carol@example.org>, dan@example.org';
    const lines = ['To', 'Reply-To', 'Errors-To'].map((name) => `${name}: ${written}, ${others}\r\n`).join('');
    const reply = await submitting.sendRaw(`From: ann@example.test\r\n${lines}Subject: x\r\n\r\nHi`, [
      'bob@example.org',
      'carol@example.org',
      'dan@example.org',
    ]);
    expect(await kindsOf(reply)).toEqual([
      ['to', 'bob@example.org'],
      ['to', 'carol@example.org'],
      ['to', 'dan@example.org'],
    ]);
    const header = (await headerOf(reply)).replace(/\r\n /g, ' ');
    for (const name of ['To', 'Reply-To', 'Errors-To']) {
      expect(header).toContain(`\r\n${name}: ${shown}, "K, R." <carol@example.org>, dan@example.org\r\n`);
    }
  });

  test('may have a hundred recipients', async () => {
    const to = Array.from({ length: 100 }, (_, at) => `b${at}@example.org`);
    const reply = await submitting.sendRaw('From: ann@example.test\r\nTo: all of you:;\r\n\r\nHi', to);
    expect((await kindsOf(reply)).map(([, address]) => address)).toEqual(to);
  });

  test('may have every header folded with HTAB (RFC 5322 §2.2.2)', async () => {
    const reply = await submitting.sendRaw(
      [
        ...['From: Ann', '\t<ann@example.test>', 'To: "Bob', '\tJones"', '\t<bob@example.org>,', '\tcarol@example.org'],
        ...[
          'Subject: =?utf-8?Q?gr=C3=BC=C3=9F?=',
          '\t=?utf-8?Q?e?= and',
          '\tmore',
          'References: <1@x.test>',
          '\t<2@x.test>',
        ],
        ...[
          'X-Own:',
          '\tone,',
          ' \ttwo',
          'X-Outbox-Tag: kind=',
          '\treceipt',
          'Content-Type: text/html;',
          '\tcharset=utf-8',
        ],
        ...['', '<p>Hi</p>'],
      ].join('\r\n'),
      ['bob@example.org', 'carol@example.org'],
    );
    expect(await kindsOf(reply)).toEqual([
      ['to', 'bob@example.org'],
      ['to', 'carol@example.org'],
    ]);
    expect(await submitting.shown(reply)).toMatchObject({
      subject: 'grüße and more',
      from_name: 'Ann',
      tags: [{ name: 'kind', value: 'receipt' }],
      headers: { References: '<1@x.test> <2@x.test>', 'X-Own': 'one,  two' },
      html: '<p>Hi</p>',
    });
    expect(await headerOf(reply)).toContain('\r\nTo: Bob Jones <bob@example.org>,\r\n carol@example.org\r\n');
  });

  test('may have folded References of any length, and is sent with lines that all servers accept', async () => {
    const ids = Array.from({ length: 150 }, (_, at) => `<${at}.0123456789abcdef@mail.example.org>`);
    const reply = await submitting.sendRaw(
      `From: ann@example.test\r\nSubject: x\r\nReferences: ${ids.join('\r\n\t')}\r\n\r\nHi`,
    );
    const header = await headerOf(reply);
    expect(Math.max(...header.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(78);
    expect(header.replace(/\r\n /g, ' ')).toContain(`\r\nReferences: ${ids.join(' ')}\r\n`);
  });

  test('may repeat headers that may occur several times (RFC 5322 §3.6)', async () => {
    const reply = await submitting.sendRaw(
      [
        ...['From: ann@example.test', 'Subject: x', 'Comments: one', 'Keywords: a, b', 'comments: two', 'Keywords: c'],
        ...[
          'X-Received: by x',
          'X-Received: by y',
          'Authentication-Results: x; none',
          'Authentication-Results: y; none',
        ],
        ...['ARC-Seal: i=1; cv=none', 'ARC-Seal: i=2; cv=pass', 'X-Loop: 1', 'X-Loop: 2', '', 'Hi'],
      ].join('\r\n'),
    );
    expect((await submitting.shown(reply)).headers).toEqual({
      Comments: 'one, two',
      Keywords: 'a, b, c',
      'X-Loop': '1, 2',
    });
    const header = await headerOf(reply);
    expect(header.match(/^(?:Comments|Keywords|X-Loop): .*$/gm)).toEqual([
      ...['Comments: one', 'Keywords: a, b', 'X-Loop: 1', 'Comments: two', 'Keywords: c', 'X-Loop: 2'],
    ]);
    expect(header).not.toMatch(/Received|Authentication|ARC/);
  });
});
