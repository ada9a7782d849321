import fc from 'fast-check';
import { simpleParser } from 'mailparser';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { CORPUS } from '../dkim/corpus.ts';
import { fieldsOf, made, signing } from '../dkim/signed-mail.ts';
import type { MailParts } from '../outgoing-mail.ts';

/** RFC 5322 §3.6.8. By §3.2.2 a folded line contains more than white space. */
const FIELD = /^[!-9;-~]+:(?: ?[^\r\n]*(?:\r\n[ \t]+[^ \t\r\n][^\r\n]*)*)$/;
/** RFC 2047 §2, only in UTF-8. */
const ENCODED_WORD = /=\?UTF-8\?(?:B\?[A-Za-z0-9+/]*=*|Q\?[!->@-~]*)\?=/g;
const SEVEN_BIT = /^[\t\r\n -~]*$/;

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 250 }),
  fc.string({ unit: 'binary', maxLength: 80 }).map((value) => value.toWellFormed()),
  fc
    .array(
      fc.constantFrom(' ', '  ', '=?utf-8?q?x?=', '"', '\\', "'", '%', '*', ';', '=', '/', '日本', 'é', '🎉', 'word'),
      { maxLength: 40 },
    )
    .map((words) => words.join('')),
);
/** Control characters become spaces, and parsers trim. */
const seen = (value = ''): string => value.replace(/\p{Cc}/gu, ' ').trim();

/** The values on which two independent parsers agree. */
const parsed = async (raw: string) => {
  const bytes = Buffer.from(raw, 'latin1');
  return { first: await simpleParser(bytes, { skipImageLinks: true }), second: await PostalMime.parse(bytes) };
};

const expectStrict = (raw: string, isUtf8: boolean): void => {
  if (!isUtf8) expect(raw).toMatch(SEVEN_BIT);
  expect(raw).not.toMatch(/\r(?!\n)|(?<!\r)\n/);
  expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  const fields = fieldsOf(raw);
  for (const field of fields) expect(field).toMatch(FIELD);
  for (const [word] of fields.join('\r\n').matchAll(ENCODED_WORD)) expect(word.length).toBeLessThanOrEqual(75);
  const names = fields.map((field) => field.slice(0, field.indexOf(':')).toLowerCase());
  for (const once of [
    'date',
    'from',
    'to',
    'cc',
    'reply-to',
    'subject',
    'message-id',
    'mime-version',
    'content-type',
  ]) {
    expect(names.filter((name) => name === once).length).toBeLessThanOrEqual(1);
  }
};

describe('a composed message', () => {
  it.each(Object.entries(CORPUS))('has valid fields, folds and lines: %s', async (name, parts) => {
    expectStrict(await made(parts), name.includes('SMTPUTF8'));
  });

  it('has them whatever its content', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, text, async (subject, name, header) => {
        const recipients = [{ id: 'rcp_1', kind: 'to' as const, address: 'to@b.test', name: header }];
        const replyTo = [{ address: 'reply@a.test', name: subject }];
        const from = { address: 'from@a.test', name };
        expectStrict(
          await made({ subject, from, recipients, replyTo, headers: { 'X-Own': header }, feedbackId: name }),
          false,
        );
      }),
      { numRuns: 300 },
    );
  });

  it('is read alike by two parsers, with the names of files and people', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, text, async (subject, name, filename) => {
        const attachments = [{ filename: `n${filename}`, contentType: 'a/b', content: 'AAEC/w==' }];
        const { first, second } = await parsed(
          await made({ subject, from: { address: 'from@a.test', name }, text: `T${subject}`, attachments }),
        );
        expect([seen(first.subject), seen(second.subject)]).toEqual([seen(subject), seen(subject)]);
        expect([seen(first.from?.value[0]?.name), seen(second.from?.name)]).toEqual([seen(name), seen(name)]);
        const shown = seen(`n${filename}`);
        const expected = /=\?[^?]*\?/.test(shown) ? shown.replaceAll('=?', '=_') : shown;
        expect([first, second].map((mail) => seen(mail.attachments[0]?.filename ?? ''))).toEqual([expected, expected]);
        const [one, other] = [first.attachments[0]?.content, second.attachments[0]?.content as ArrayBuffer];
        expect([one?.toString('base64'), Buffer.from(other).toString('base64')]).toEqual(['AAEC/w==', 'AAEC/w==']);
        // One of the parsers adds an empty line.
        const line = (value = ''): string => value.replace(/\r\n?/g, '\n').replace(/\n+$/, '');
        expect([line(first.text), line(second.text)]).toEqual([line(`T${subject}`), line(`T${subject}`)]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a blind recipient', () => {
  const local = fc.stringMatching(/^hidden[a-z0-9]{8}$/);
  const address = fc
    .tuple(local, fc.constantFrom('@b.test', 'ü@b.test', '.x@secret.example'))
    .map((parts) => parts.join(''));
  const hidden = fc.array(fc.record({ address, name: fc.constantFrom('Hidden Person', 'Hidden Ü') }), {
    minLength: 1,
    maxLength: 5,
  });

  it('appears in no copy of the message', async () => {
    await fc.assert(
      fc.asyncProperty(
        hidden,
        fc.constantFrom<MailParts>({}, { html: '<p>x</p>' }, { text: 'é' }),
        fc.boolean(),
        async (blind, parts, alone) => {
          const seenOnes = alone ? [] : [{ id: 'rcp_0', kind: 'to' as const, address: 'to@b.test' }];
          const recipients = [
            ...seenOnes,
            ...blind.map((each, at) => ({ ...each, id: `rcp_b${at}`, kind: 'bcc' as const })),
          ];
          for (const envelopeTo of [recipients.map((each) => each.address), blind.map((each) => each.address)]) {
            const raw = await made({
              ...parts,
              recipients,
              envelopeTo,
              signing,
              unsubscribe: { url: 'https://a.test/u' },
            });
            const { first, second } = await parsed(raw);
            expect(`${raw}${JSON.stringify(first)}${JSON.stringify(second)}`).not.toMatch(/hidden|secret/i);
            expect(fieldsOf(raw).some((field) => /^bcc/i.test(field))).toBe(false);
            expect(second.to).toHaveLength(1);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
