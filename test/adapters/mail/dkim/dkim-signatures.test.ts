import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outgoingMail } from '../outgoing-mail.ts';
import { createPostOffice, longestLine } from '../post-office.ts';
import { CORPUS } from './corpus.ts';
import { BOTH, bytesOf, fieldsOf, made, messageOf, nameOf, signing, verify } from './signed-mail.ts';
import { rsaKey } from './test-keys.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const { sent } = createPostOffice();

const tagsOf = (field = ''): Readonly<Record<string, string>> =>
  Object.fromEntries(
    field
      .slice(field.indexOf(':') + 1)
      .replace(/\s/g, '')
      .split(';')
      .map((tag) => [tag.slice(0, tag.indexOf('=')), tag.slice(tag.indexOf('=') + 1)]),
  );
const signaturesOf = (raw: string) => fieldsOf(raw).filter((field) => nameOf(field) === 'DKIM-Signature');

describe('a signed message', () => {
  it.each(Object.entries(CORPUS))('is verified after it was sent by SMTP: %s', async (_, parts) => {
    const { raw } = await sent({ ...parts, signing });
    expect(await verify(raw)).toEqual(BOTH);
  });

  it('is verified whatever its content', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.string({ unit: 'binary', maxLength: 100 }),
      fc
        .array(fc.constantFrom(' ', '  ', '\t', '\r\n', '\n', '\n\n', '.', 'word', 'é', '🎉', ':', ';', '=', '<'), {
          maxLength: 60,
        })
        .map((words) => words.join('')),
    );
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (subject, name, header, body) => {
        const raw = await made({
          subject,
          from: { address: 'from@a.test', name },
          headers: { References: header, 'List-Id': name },
          feedbackId: header,
          text: body,
          html: `<p>${body}`,
        });
        expect(await verify(raw)).toEqual(BOTH);
      }),
      { numRuns: 200 },
    );
  });

  it('is not signed without keys', async () => {
    expect(signaturesOf((await sent({})).raw)).toEqual([]);
    expect(signaturesOf((await sent({ signing: [] })).raw)).toEqual([]);
  });

  it('has the size of the data sent', async () => {
    for (const parts of Object.values(CORPUS)) {
      const { sizeBytes, chunks } = await messageOf(outgoingMail({ ...parts, signing }));
      expect(Buffer.concat([...chunks()])).toHaveLength(sizeBytes);
    }
  });

  it('in many copies has a signature for each', async () => {
    const mail = outgoingMail({ signing, html: '<p>same</p>' });
    const copies = ['x', 'y', 'z'].map((path) => ({ ...mail, unsubscribe: { url: `https://a.test/${path}` } }));
    const raws = await Promise.all(copies.map(bytesOf));
    for (const raw of raws) expect(await verify(raw)).toEqual(BOTH);
    expect(new Set(raws.map(String)).size).toBe(3);
  });

  it('with the same body and another Message-ID has signatures of its own', async () => {
    const mail = outgoingMail({ signing, html: '<p>same</p>', text: 'same' });
    for (const messageId of ['<1@a.test>', '<2@a.test>', '<1@a.test>']) {
      expect(await verify(await bytesOf({ ...mail, messageId }))).toEqual(BOTH);
    }
  });

  it('expires after a week', async () => {
    const raw = await made({});
    const later = (days: number): Date => new Date(Date.now() + days * DAY_MS);
    expect(await verify(raw, later(6.9))).toEqual(BOTH);
    expect((await verify(raw, later(7.1))).some((result) => result.startsWith('pass'))).toBe(false);
  });
});

describe('a DKIM-Signature', () => {
  it('says what it covers, on lines of 78 characters', async () => {
    const raw = await made({
      unsubscribe: { url: 'https://a.test/u' },
      feedbackId: 'a:b:c:d',
      text: 'é',
      headers: { 'In-Reply-To': '<a@a.test>', References: '<a@a.test>', references: '<b@a.test>' },
    });
    const [first, second, ...rest] = signaturesOf(raw);
    expect(rest).toEqual([]);
    expect(longestLine(`${first}\r\n${second}`)).toBeLessThanOrEqual(78);
    expect(first).toMatch(/^DKIM-Signature: v=1; /);
    const { t, x, b, ...tags } = tagsOf(first);
    expect(tags).toEqual({
      v: '1',
      a: 'rsa-sha256',
      c: 'relaxed/relaxed',
      d: 'a.test',
      s: 'r1',
      bh: tagsOf(second).bh,
      h: [
        'From:From:Reply-To:Subject:Subject:Date:Date:To:To:Cc:Message-ID:Message-ID:MIME-Version:MIME-Version',
        'Content-Type:Content-Type:List-Unsubscribe:List-Unsubscribe:List-Unsubscribe-Post:List-Unsubscribe-Post',
        'Feedback-ID:Feedback-ID:Content-Transfer-Encoding:Content-Transfer-Encoding:In-Reply-To:In-Reply-To',
        'References:References:References',
      ].join(':'),
    });
    expect([Number(x) - Number(t), Buffer.from(b ?? '', 'base64')]).toEqual([
      604_800,
      expect.objectContaining({ length: 256 }),
    ]);
    expect(tagsOf(second)).toMatchObject({ a: 'ed25519-sha256', s: 'e1' });
  });

  it('keeps its line length for any names, if a name fits on one line', async () => {
    for (let length = 1; length < 70; length += 1) {
      const own = rsaKey('a.test', 's'.repeat(Math.min(length, 63)), 1024);
      const key = { ...own.key, domain: `${'d'.repeat(Math.min(length, 60))}.test` };
      const [field = ''] = signaturesOf(await made({ signing: [key] }));
      expect(longestLine(field)).toBeLessThanOrEqual(78);
      expect(field).not.toMatch(/\r\n[ \t]*\r\n|[ \t]\r\n/);
    }
  });
});
