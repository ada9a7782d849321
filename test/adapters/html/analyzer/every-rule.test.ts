import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { FINDINGS_MAX, RULE_TABLE, RULES_VERSION, type RuleName } from '../../../../src/domain/analysis/analysis.ts';
import { analysed } from './analysed.ts';

type Example = () => Parameters<typeof analysed>;

const html =
  (source: string): Example =>
  () => [{ html: source }];
const subject =
  (text: string): Example =>
  () => [{ subject: text }];
const attached =
  (filename: string): Example =>
  () => [{ attachments: [{ filename, contentType: 'text/plain', content: 'aGVsbG8=' }] }];
const WORDS = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ');

/** One example for each rule. A missing rule is a compile error. */
const EXAMPLES: Readonly<Record<RuleName, Example>> = {
  'domain-not-verified': () => [{}, { verified: false }],
  'dkim-not-valid': () => [{}, { dkim: 'missing' }],
  'spf-not-valid': () => [{}, { spf: 'invalid' }],
  'dmarc-not-valid': () => [{}, { dmarc: 'missing' }],
  'authentication-unchecked': () => [{}, { spf: 'unknown' }],
  'mail-captured': () => [{}, { capturing: true }],
  'sender-name-misleading': () => [{ from: { address: 'a@shop.example', name: 'ann@gmail.com' } }],
  'lookalike-host': () => [{ replyTo: [{ address: 'a@xn--pple-43d.com' }] }],
  'sender-no-reply': () => [{ from: { address: 'noreply@shop.example' } }],
  'unsubscribe-missing': () => [{ stream: 'bulk' }],
  'unsubscribe-not-one-click': () => [{ stream: 'bulk', unsubscribe: { mailto: 'u@shop.example' } }],
  'subject-blank': subject(' '),
  'subject-deceptive': subject('Your \u202eredro'),
  'subject-fake-reply': subject('Re: you'),
  'subject-shouting': subject('HELLO EVERYBODY'),
  'subject-too-long': subject('x'.repeat(200)),
  'subject-long': subject('x'.repeat(100)),
  'template-marker': subject('Hello {{name}}'),
  'encoding-damage': subject('Hello \ufffd'),
  secret: html('<p>AKIAABCDEFGHIJKLMNOP</p>'),
  'body-empty': html('<p></p>'),
  'text-differs': html(`<p>${WORDS}</p>`),
  'text-missing': () => [{ html: '<p>x</p>' }, {}, ['text']],
  'html-invalid': html('<b>x'),
  'html-attribute-repeated': html('<p class="a" class="b">x</p>'),
  'html-clipped': html(`<p>${'x'.repeat(110_000)}</p>`),
  'html-deep': html('<b>'.repeat(200)),
  'html-lang-missing': html('<html>x'),
  'message-large': () => [{ attachments: [{ filename: 'a', contentType: 'a/b', content: 'A'.repeat(10_000_000) }] }],
  'active-content': html('<script></script>x'),
  'hidden-text': html('x<p hidden>y</p>'),
  'external-style': html('<style>@import "x"</style>x'),
  'link-script': html('<a href="javascript:x">x</a>'),
  'link-text-mismatch': html('<a href="https://a.example">https://b.example</a>'),
  'link-text-other-name': html('<a href="https://a.example">bank.com</a>'),
  'link-private-host': html('<a href="https://localhost">x</a>'),
  'link-ip-address': html('<a href="https://93.184.216.34">x</a>'),
  'link-user-name': html('<a href="https://bank.example@evil.example/x">x</a>'),
  'link-shortener': html('<a href="https://bit.ly/x">x</a>'),
  'link-malformed': html('<a href="/x">x</a>'),
  'link-plain-http': html('<a href="http://shop.example">x</a>'),
  'link-empty': html('<a href="">x</a>'),
  'link-other-site': html('<a href="https://a.example">x</a>'),
  'image-attachment-missing': html('<img src="cid:a">'),
  'image-attachment-unused': () => [
    { html: '<p>x</p>', attachments: [{ filename: 'a', contentType: 'image/png', contentId: 'a', content: '' }] },
  ],
  'image-heavy': html('<img src="https://shop.example/a.png">'),
  'image-without-source': html('<img>'),
  'image-data-uri': html('<img src="data:image/gif;base64,">'),
  'image-without-alt': html('<img src="https://shop.example/a.png">'),
  'image-without-width': html('<img src="https://shop.example/a.png">'),
  'tracking-pixel': html('<img src="https://shop.example/a.png" width=1 height=1>'),
  'attachment-executable': attached('a.exe'),
  'attachment-name-deceptive': attached('a\u202efdp.txt'),
  'attachment-archive': attached('a.zip'),
};

describe('a rule', () => {
  test.each(Object.entries(EXAMPLES))('%s applies to its example, and deducts its points', (rule, example) => {
    const { findings, score } = analysed(...example());
    const found = findings.filter((finding) => finding.rule === rule);
    const { severity, points, fix } = RULE_TABLE[rule as RuleName];
    expect(found).toEqual([expect.objectContaining({ severity, fix })]);
    expect(score).toBeLessThanOrEqual(100 - points);
    expect(found[0]?.message).toMatch(/^[^a-z\s][^\n]{10,300}[^.]\.$/);
  });

  test.each(Object.entries(RULE_TABLE))('%s has a name, a weight and a remedy like all others', (name, rule) => {
    expect(name).toMatch(/^[a-z]+(?:-[a-z]+)*$/);
    expect(rule.points).toBeLessThanOrEqual(rule.pointsMax);
    expect(rule.pointsMax).toBeLessThanOrEqual(100);
    expect(rule.fix).toMatch(/^[A-Z].{10,120}[^.]\.$/);
    if (rule.severity === 'error') expect(rule.points).toBeGreaterThanOrEqual(10);
    if (rule.severity === 'info') expect(rule.points).toBeLessThanOrEqual(2);
  });
});

test('the hundred gravest findings are listed, and the others are counted', () => {
  const each = Object.values(EXAMPLES).map((example) => example()[0]?.html ?? '');
  const source = `<p>x</p>${each
    .filter((one) => one !== '' && one.length < 100)
    .join('')
    .repeat(12)}`;
  const { findings } = analysed({ html: source });
  expect(findings).toHaveLength(FINDINGS_MAX);
  expect(findings.at(-1)?.message).toMatch(/\. \d+ less important findings are not listed\.$/);
  expect(findings.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/ \(and [1-9]\d* more of this rule\)\.$/),
  );
  expect(findings.map(({ severity }) => severity)).toEqual(findings.map(({ severity }) => severity).sort(byWeight));
});

const byWeight = (one: string, other: string): number => WEIGHTS.indexOf(one) - WEIGHTS.indexOf(other);
const WEIGHTS = ['error', 'warning', 'info'];

test('a changed table has a version of its own', () => {
  const weights = Object.entries(RULE_TABLE).map(([name, { severity, points, pointsMax }]) => [
    ...[name, severity, points, pointsMax],
  ]);
  expect([RULES_VERSION, hash('sha256', JSON.stringify(weights)).slice(0, 12)]).toEqual([4, '37c0046a5c1e']);
});
