import { describe, expect, test } from 'vitest';
import { SUBJECT_WORDS_MAX, subjectWordDigests, subjectWords } from '../../../src/domain/message/draft.ts';

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
