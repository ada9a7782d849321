import { describe, expect, test } from 'vitest';
import { suppresses } from '../../../src/domain/bounce/categories.ts';
import {
  type ClassifiedReply,
  classifyReply,
  DEFINITE_WORDS,
  REPLY_CODES,
  STATUS_CODES,
  VAGUE_STATUS_CODES,
  VAGUE_WORDS,
} from '../../../src/domain/bounce/classify.ts';
import { processorMs } from '../../support/processor-time.ts';

const EXAMPLE = /^(\d{1,3}) (?:([245]\.\d{1,3}\.\d{1,3}) )?(.*)$/;

/** Parses a reply such as `550 5.1.1 text`, received as a bounce message. */
const reply = (example: string, mx: string | null = null): ClassifiedReply => {
  const [, code = '', enhanced = null, text = ''] = EXAMPLE.exec(example) ?? [];
  return { code: Number(code), enhanced, text, mx };
};

/** An example host for a rule. */
const hostOf = (mx: RegExp | undefined): string | null =>
  mx === undefined
    ? null
    : (['mx.olc.protection.outlook.com', 'mx00.gmx.net', 'lsean.ezweb.ne.jp'].find((host) => mx.test(host)) ??
      'no such host');

describe('every line of the table', () => {
  const lines = [...DEFINITE_WORDS, ...VAGUE_WORDS];

  test.each(lines)('$category, $source: $example', ({ category, mx, example }) => {
    const said = reply(example, hostOf(mx));
    const isPermanent = said.code === 0 || said.code >= 500;
    expect(classifyReply(said)).toBe(category);
    expect(isPermanent || !suppresses(category)).toBe(true);
  });

  test('is reached by its own words: no earlier one hides it', () => {
    const hidden = lines.filter(({ mx, example }, index) => {
      const { text } = reply(example, hostOf(mx));
      const plain = text.toLowerCase().replaceAll(/[^\s<>()]+@[^\s<>(),;:]+/g, '');
      return lines[index]?.words.test(plain.replaceAll(/\s+/g, ' ')) !== true;
    });
    expect(hidden.map(({ example }) => example)).toEqual([]);
  });

  test.each([...STATUS_CODES, ...VAGUE_STATUS_CODES])('$code is $category ($source)', ({ code, category }) => {
    expect(classifyReply({ code: 554, enhanced: `5.${code}`, text: 'Sorry', mx: null })).toBe(category);
  });

  test.each(Object.entries(REPLY_CODES))('%s alone is %s', (code, category) => {
    expect(classifyReply({ code: Number(code), enhanced: null, text: '', mx: null })).toBe(category);
  });
});

describe('a reply', () => {
  test.each(['550', '551', '553', '554', '450', '550 5.0.0', '554 5.2.0'])('of a bare %s says nothing', (code) => {
    expect(classifyReply(reply(`${code} `))).toBe('unknown');
    expect(classifyReply(reply(`${code} Sorry`))).toBe('unknown');
  });

  test.each([
    ['550 5.1.1 User unknown; Client host [192.0.2.1] blocked using zen.spamhaus.org', 'reputation'],
    ['550 5.1.1 <a@b.test>: Recipient address rejected: rejected by SPF check', 'authentication'],
    ['550 5.7.1 <a@b.test>: Recipient address rejected: User unknown in local recipient table', 'no_mailbox'],
    ['550 5.1.1 Message rejected as spam', 'spam'],
    ['550 5.1.1 <spamhaus@b.test>: User unknown', 'no_mailbox'],
    ['550 5.1.1 <a@mailbox-is-full.test>: User unknown', 'no_mailbox'],
    ['550 <user.unknown@b.test>: rejected', 'unknown'],
    ['550 5.7.1 Requested action not taken: mailbox unavailable', 'policy'],
    ['550 5.1.1 Recipient refused by the filter of your domain', 'unknown'],
    ['550 5.7.26 User unknown', 'authentication'],
    ['550 5.1.8 Your account has been suspended', 'sender_rejected'],
    ['552 5.2.2 Mailbox full', 'mailbox_full'],
    ['550 5.1.1 The mailbox is full', 'mailbox_full'],
  ] as const)('that says %j is %s', (example, category) => {
    expect(classifyReply(reply(example))).toBe(category);
  });

  test.each(['450 4.1.1 User unknown', '451 4.2.1 mailbox disabled', '421 No such user', '0 4.1.1 User unknown'])(
    'that is temporary is no fault of the address: %s',
    (example) => {
      expect(classifyReply(reply(example))).toBe('unknown');
    },
  );

  test.each([
    ['mail', 'unknown'],
    ['session', 'unknown'],
    ['recipient', 'no_mailbox'],
    ['content', 'no_mailbox'],
    [undefined, 'no_mailbox'],
  ] as const)('blames no address before one was named: at %s it is %s', (stage, category) => {
    expect(classifyReply({ ...reply('550 5.1.1 User unknown'), stage })).toBe(category);
  });

  test('in a session means less than in a report, which may be about anything', () => {
    const said = reply('550 Requested action not taken: mailbox unavailable');
    expect([classifyReply({ ...said, stage: 'recipient' }), classifyReply(said)]).toEqual(['unknown', 'no_mailbox']);
  });

  test.each([
    ['the greeting is too long: the mail server never ends it', null, 'unknown'],
    ['the message is larger than the server accepts', '5.3.4', 'too_large'],
    ['the domain does not exist', '5.1.2', 'no_domain'],
    ['no such user', null, 'unknown'],
  ] as const)('of our own is recognised by its code and never by its words: %s', (text, enhanced, category) => {
    expect(classifyReply({ code: 0, enhanced, text, mx: null, stage: 'connect' })).toBe(category);
  });

  test('is read in linear time, however long and strange it is', () => {
    const texts = [
      'a',
      'a@',
      'user ',
      'message size ',
      'spf dkim fail ',
      'quota exceeded mailbox ',
      '\0\r\n',
      'é’',
      "5.1.0 - x 550-'",
      'domain ',
      '#5.1.0 ',
      'x-a:',
      'from sender ',
      'cuenta ',
    ];
    for (const text of texts) {
      const long = { code: 550, enhanced: null, text: text.repeat(10_000_000 / text.length), mx: 'x'.repeat(10_000) };
      expect(processorMs(() => classifyReply(long))).toBeLessThan(500);
    }
  });

  test('takes well under a millisecond', () => {
    const said = reply(`550 5.1.1 ${'nothing that is known, '.repeat(40)}`);
    const tookMs = processorMs(() => {
      for (let index = 0; index < 200; index += 1) classifyReply(said);
    });
    expect(tookMs / 200).toBeLessThan(1);
  });
});

test('only address faults suppress', () => {
  const suppressing = new Set(DEFINITE_WORDS.map(({ category }) => category).filter(suppresses));
  expect([...suppressing].sort()).toEqual(['mailbox_disabled', 'no_domain', 'no_mailbox']);
});
