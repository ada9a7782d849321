import { describe, expect, it } from 'vitest';
import type { MailParts } from '../outgoing-mail.ts';
import { BOTH, fieldsOf, made, NEITHER, nameOf, verify } from './signed-mail.ts';

describe('a message changed in transit', () => {
  const parts: MailParts = {
    subject: 'Subject',
    text: 'First line\nsecond line\n',
    replyTo: [{ address: 'reply@a.test' }],
    unsubscribe: { url: 'https://a.test/u' },
    feedbackId: 'a:b:c:d',
    recipients: [
      { id: 'rcp_1', kind: 'to', address: 'to@b.test' },
      { id: 'rcp_2', kind: 'cc', address: 'cc@b.test' },
    ],
    headers: { 'In-Reply-To': '<a@a.test>', References: '<a@a.test>', 'List-Id': '<l.a.test>' },
  };
  const NAMES = [
    ...['Date', 'From', 'Reply-To', 'To', 'Cc', 'Subject', 'Message-ID', 'List-Unsubscribe', 'List-Unsubscribe-Post'],
    ...[
      'Feedback-ID',
      'In-Reply-To',
      'References',
      'List-Id',
      'MIME-Version',
      'Content-Type',
      'Content-Transfer-Encoding',
    ],
  ];
  const rebuilt = (raw: string, fields: readonly string[]): string =>
    `${fields.join('\r\n')}${raw.slice(raw.indexOf('\r\n\r\n'))}`;

  it('is verified before any change', async () => {
    const raw = await made(parts);
    expect(fieldsOf(raw).map(nameOf).slice(2)).toEqual(NAMES);
    expect(await verify(rebuilt(raw, fieldsOf(raw)))).toEqual(BOTH);
  });

  it.each(NAMES)('in its %s is not verified, nor when that is removed or repeated', async (name) => {
    const raw = await made(parts);
    const fields = fieldsOf(raw);
    const changed = fields.map((field) => (nameOf(field) === name ? `${field}x` : field));
    expect(await verify(rebuilt(raw, changed))).toEqual(NEITHER);
    expect(
      await verify(
        rebuilt(
          raw,
          fields.filter((field) => nameOf(field) !== name),
        ),
      ),
    ).toEqual(NEITHER);
    const own = fields.find((field) => nameOf(field) === name) ?? '';
    for (const added of [`${name}: evil@c.test`, own]) {
      expect(await verify(rebuilt(raw, [added, ...fields]))).toEqual(NEITHER);
      expect(await verify(rebuilt(raw, [...fields, added]))).toEqual(NEITHER);
    }
  });

  it.each(['Reply-To', 'Cc'])('cannot gain %s that it did not have', async (name) => {
    const raw = await made({});
    expect(await verify(`${name}: evil@c.test\r\n${raw}`)).toEqual(NEITHER);
  });

  it.each(['Sender: list@c.test', 'List-Id: <l.c.test>', 'Received: from a by b', 'X-Own: x'])(
    'may gain %s from a list or a server',
    async (field) => {
      expect(await verify(`${field}\r\n${await made({})}`)).toEqual(BOTH);
    },
  );

  it('in its body is not verified, whether in a character, a line or a line end', async () => {
    const raw = await made(parts);
    for (const [from, to] of [
      ['First', 'first'],
      ['second line', ''],
      ['First line\r\n', 'Firstline\r\n'],
      ['second line\r\n', 'second line\r\nand a third\r\n'],
    ] as const) {
      expect(raw).toContain(from);
      expect(await verify(raw.replace(from, to))).toEqual(NEITHER);
    }
  });

  it('by servers that fold, unfold, strip and pad is still verified', async () => {
    const raw = await made({ ...parts, subject: 'Two words' });
    const padded = raw
      .replace('Subject: Two words', 'SUBJECT:   Two\r\n\t  words  ')
      .replace('First line', 'First \t line  ');
    expect(padded).not.toBe(raw);
    expect(await verify(`${padded}\r\n\r\n`)).toEqual(BOTH);
  });
});
