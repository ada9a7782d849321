import { describe, expect, test } from 'vitest';
import { listLinkProblem, resentProblems } from '../../../src/domain/message/draft.ts';

describe('a header that says who sent a message again', () => {
  test.each([
    'a@own.test',
    'Ann <a@OWN.test>',
    '"a@other.test" <a@own.test>',
    '"a\\"@other.test" <a@own.test>',
    'Ann <a@own.test>, Bob <b@own.test>',
    '=?utf-8?q?Z=C3=B6e?= <z@own.test>',
  ])('may name %s', (value) => {
    expect(resentProblems([['Resent-From', value]], 'own.test')).toEqual([]);
  });

  test.each([
    'a@other.test',
    'a@own.test, b@other.test',
    'a@sub.own.test',
    'a@own.test.other.test',
    '""@other.test',
    '"a@own.test"@other.test',
    '"a@own.test" <a@other.test>',
    '<@other.test:a@own.test>',
    'a@own.test (b@other.test)',
    'a@[192.0.2.1]',
    'a@',
    'nobody',
    'a @ other.test',
    '',
  ])('must not name %j', (value) => {
    for (const name of ['Resent-From', 'RESENT-SENDER'])
      expect(resentProblems([[name, value]], 'own.test')).toEqual([`headers.${name} must be an address on own.test`]);
  });

  test('is compared in A-labels', () => {
    expect(resentProblems([['Resent-From', 'a@MÜNCHEN.test']], 'xn--mnchen-3ya.test')).toEqual([]);
  });

  test('is not any other header', () => {
    expect(
      resentProblems(
        [
          ['Resent-To', 'a@other.test'],
          ['X-Resent-From', 'a@other.test'],
        ],
        'own.test',
      ),
    ).toEqual([]);
  });

  test('of great length is read in linear time', () => {
    const value = '"'.repeat(16_000) + '@'.repeat(16_000);
    expect(resentProblems([['Resent-From', value]], 'own.test')).toHaveLength(1);
  });
});

describe('links of list headers', () => {
  test.each([
    ['List-Unsubscribe', '<https://example.org/u?x=javascript:1>, <mailto:u@example.org?subject=a:b>'],
    ['List-Unsubscribe', '<HTTPS://example.org/>'],
    ['List-Unsubscribe', '<http://example.org/>'],
    ['List-Unsubscribe', 'unsubscribe@example.org'],
    ['List-Help', '<https://example.org/> (Help)'],
    ['List-Post', 'NO'],
    ['List-Id', 'News: all of it <news.example.org>'],
    ['X-Link', '<javascript:alert(1)>'],
  ])('may be %s: %s', (name, value) => {
    expect(listLinkProblem(name, value, false)).toBeNull();
  });

  test.each([
    ['<javascript:alert(1)>', 'javascript'],
    ['<JavaScript:alert(1)>', 'javascript'],
    ['< java\tscript :alert(1)>', 'javascript'],
    ['<https://example.org/>, <javascript:alert(1)>', 'javascript'],
    ['<<javascript:alert(1)>', 'javascript'],
    ['<javascript:alert(1)', 'javascript'],
    ['javascript:alert(1)', 'javascript'],
    ['https://example.org/, javascript:alert(1)', 'javascript'],
    ['<data:text/html,x>', 'data'],
    ['<file:///etc/passwd>', 'file'],
    ['<ms-word:ofe|u|https://example.org/x.docx>', 'ms-word'],
  ])('must not be %j', (value, scheme) => {
    for (const name of ['List-Unsubscribe', 'list-help', 'List-Archive'])
      expect(listLinkProblem(name, value, false)).toBe(
        `must have only https:, http: and mailto: links, not ${scheme}:`,
      );
  });

  test('must not be http: for one-click', () => {
    expect(listLinkProblem('List-Unsubscribe', '<http://example.org/>', true)).toContain('one-click requires https:');
    expect(listLinkProblem('List-Help', '<http://example.org/>', true)).toBeNull();
    expect(listLinkProblem('List-Unsubscribe', '<https://example.org/>', true)).toBeNull();
  });
});
