import { describe, expect, test } from 'vitest';
import { RULE_TABLE } from '../../../src/domain/analysis/analysis.ts';
import type { MessageFacts } from '../../../src/domain/analysis/facts.ts';
import { judge } from '../../../src/domain/analysis/judge.ts';

const facts = (more: Partial<MessageFacts> = {}): MessageFacts => ({
  from: { address: 'a@shop.example' },
  replyTo: [],
  recipients: [{ address: 'b@example.org', kind: 'to' }],
  subject: 'Hello',
  text: 'Hello',
  headers: {},
  stream: 'transactional',
  html: null,
  textLinks: [],
  attachments: [],
  sizeBytes: 5,
  domain: {
    name: 'shop.example',
    verified: true,
    capturing: false,
    spf: 'valid',
    dkim: 'valid',
    dmarc: 'valid',
  },
  ...more,
});
const programs = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    field: `attachments[${index}]`,
    filename: `${index}.exe`,
    contentType: 'x/x',
    head: '',
  }));

describe('an analysis', () => {
  test('of a correct message scores 100, passes, and reports the size', () => {
    expect(judge(facts())).toEqual({ score: 100, verdict: 'pass', findings: [], sizeBytes: 5 });
  });

  test('warns for a warning, fails for an error, and passes with informational findings', () => {
    const from = { address: 'noreply@shop.example' };
    expect(judge(facts({ from })).verdict).toBe('pass');
    expect(judge(facts({ from, subject: 'Re: x' })).verdict).toBe('warn');
    expect(judge(facts({ from, subject: 'Re: {{x}}' })).verdict).toBe('fail');
  });

  test('puts errors first, and earlier findings before later ones', () => {
    const { findings } = judge(facts({ subject: 'Re: {{x}} {{y}}', from: { address: 'noreply@shop.example' } }));
    expect(findings.map(({ severity }) => severity)).toEqual(['error', 'error', 'warning', 'info']);
    expect(findings.map(({ message }) => message).slice(0, 2)).toEqual([
      '"{{x}}" was not filled in.',
      '"{{y}}" was not filled in.',
    ]);
  });

  test('deducts points for each finding up to the maximum of its rule, and never goes below 0', () => {
    const { points, pointsMax } = RULE_TABLE['attachment-executable'];
    expect([1, 2, 3, 20].map((count) => judge(facts({ attachments: programs(count) })).score)).toEqual([
      100 - points,
      100 - 2 * points,
      100 - pointsMax,
      100 - pointsMax,
    ]);
    const all = { subject: 'Re: {{x}}{{y}}{{z}}', attachments: programs(20), text: '{{a}}' };
    expect(judge(facts(all)).score).toBe(0);
  });

  test('lists ten findings of a rule, the last of which counts the others', () => {
    const ten = judge(facts({ attachments: programs(10) })).findings;
    expect(ten.at(-1)?.message).toBe('"9.exe" is a program.');
    const { findings } = judge(facts({ attachments: programs(20) }));
    expect(findings).toHaveLength(10);
    expect(findings.at(-1)?.message).toBe('"9.exe" is a program (and 10 more of this rule).');
  });

  test('quotes nothing that could break out of its sentence', () => {
    const filename = `\u202e${'x'.repeat(100)}\u0007.exe`;
    const [finding] = judge(
      facts({ attachments: [{ field: 'attachments[0]', filename, contentType: 'x/x', head: '' }] }),
    ).findings;
    expect(finding?.message).toBe(`"${'x'.repeat(59)}…" is a program.`);
  });
});
