import { describe, expect, test } from 'vitest';
import {
  addressDigests,
  addressTextDigests,
  addressWords,
  SUBJECT_WORDS_MAX,
  subjectWordDigests,
  subjectWords,
  tagDigests,
  tagWordDigest,
} from '../../../src/domain/message/search-words.ts';

const SECRET = Buffer.alloc(32, 7);

describe('the words of a subject', () => {
  test.each([
    ['Your order №7 has shipped!', ['your', 'order', 'no7', 'has', 'shipped']],
    ['STRASSE, Straße; ſtraße', ['strasse']],
    ['Ｆｕｌｌ ｗｉｄｔｈ ﬁne', ['full', 'width', 'fine']],
    ['ΟΔΟΣ οδος', ['οδος']],
    ['Cafe\u0301 Café', ['café']],
    ['=?utf-8?q?x?= a b c', ['utf']],
    ['[JIRA-1234] build_42 v1.20', ['jira', '1234', 'build', '42', 'v1', '20']],
    ['\tTabs\tand I  STAY-UP: a_b 1 22', ['tabs', 'and', 'stay', 'up', '22']],
    ['Tabs and I STAY-UP: a_b 1 22', ['tabs', 'and', 'stay', 'up', '22']],
    ['注文の確認', ['注文', 'の', '確認']],
    ['ยินดีต้อนรับ', ['ยินดี', 'ต้อนรับ']],
    ['👍 🎉 — …', []],
    ['\0 \r\n \u202E', []],
    ['', []],
  ])('%s', (subject, words) => {
    expect(subjectWords(subject)).toEqual(words);
  });

  test('are the first of them, however long the subject is', () => {
    const many = Array.from({ length: 1_000_000 }, (_, at) => `w${at}`).join(' ');
    expect(subjectWords(many)).toEqual(Array.from({ length: SUBJECT_WORDS_MAX }, (_, at) => `w${at}`));
    expect(subjectWords('x'.repeat(1_000_000))).toHaveLength(1);
    expect(subjectWords(`${'漢'.repeat(998)}`).length).toBeLessThanOrEqual(SUBJECT_WORDS_MAX);
  });

  test('are digested under the secret of the organization', () => {
    const digests = subjectWordDigests(SECRET, 'Hello again');
    expect(digests).toEqual(subjectWordDigests(SECRET, 'HELLO, again.'));
    expect(digests).not.toEqual(subjectWordDigests(Buffer.alloc(32, 8), 'Hello again'));
    for (const digest of digests) expect(BigInt.asIntN(64, BigInt(digest))).toBe(BigInt(digest));
  });
});

describe('parts of addresses and names', () => {
  const ann = { address: 'ann.smith+News@Mail.example.com', name: 'Dr. Ann-Sophie Smith' };
  const isFound = (text: string, mailboxes = [ann]): boolean => {
    const stored = addressDigests(SECRET, 'to', mailboxes);
    return addressTextDigests(SECRET, 'to', text).every((digest) => stored.includes(digest));
  };

  test.each([
    ['ann', true],
    ['ANN.SMI', true],
    ['ann.smith@', true],
    ['@mail.exa', true],
    ['smith+news@mail.example.com', true],
    ['sophie dr', true],
    ['dr', true],
    ['an', false],
    ['nn', false],
    ['smithe', false],
    ['ann jones', false],
    ['ｓｍｉｔｈ', true],
  ])('%s: %s', (text, expected) => {
    expect(isFound(text)).toBe(expected);
  });

  test('compare the first eight characters of long words', () => {
    const long = [{ address: 'unsubscriptions@example.com', name: '' }];
    expect([isFound('unsubscr', long), isFound('unsubscrx', long), isFound('unsubscy', long)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('are words of any script, and none of what has no letter or digit', () => {
    expect(addressWords('用户@例子.广告 Ünal')).toEqual(['用户', '例子', '广告', 'ünal']);
    expect(addressWords('\0 @ . \u202E')).toEqual([]);
  });

  test('have a bound, whatever the addresses are', () => {
    const words = (seed: number) => Array.from({ length: 60 }, (_, at) => `${seed}w${at}abcdefgh`).join('.');
    const many = Array.from({ length: 50 }, (_, at) => ({ address: `${words(at)}@example.com`, name: words(-at) }));
    expect(addressDigests(SECRET, 'to', many).length).toBe(600);
    expect(addressDigests(SECRET, 'to', [{ address: 'a@b.c', name: 'x'.repeat(1_000_000) }]).length).toBe(9);
  });

  test('are digested under the secret, apart for recipients and senders', () => {
    const to = addressDigests(SECRET, 'to', [ann]);
    expect(to).not.toContain(addressTextDigests(SECRET, 'from', 'ann')[0]);
    expect(to).not.toContain(addressTextDigests(Buffer.alloc(32, 8), 'to', 'ann')[0]);
    expect(new Set(to).size).toBe(to.length);
    for (const digest of to) expect(BigInt.asIntN(64, BigInt(digest))).toBe(BigInt(digest));
  });
});

test('a tag is found by its name or its value, in any letter case', () => {
  const digests = tagDigests(SECRET, [
    { name: 'Campaign', value: 'welcome' },
    { name: 'empty', value: '' },
  ]);
  expect(digests).toHaveLength(3);
  for (const word of ['campaign', 'WELCOME', 'empty']) expect(digests).toContain(tagWordDigest(SECRET, word));
  expect(digests).not.toContain(tagWordDigest(SECRET, 'camp'));
});
