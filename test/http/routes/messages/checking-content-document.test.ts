import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { analyzeMessage, inputOf } from '../../../../src/adapters/html/analyzer.ts';
import type { RuleName } from '../../../../src/domain/analysis/analysis.ts';
import type { DomainFacts } from '../../../../src/domain/analysis/facts.ts';
import { findingExamples } from '../../../support/documents/findings-table.ts';
import { type Service, startService } from '../../support/service.ts';

const page = readFileSync(new URL('../../../../docs/checking-content.md', import.meta.url), 'utf8');
const [, shown = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
const base = JSON.parse(shown);
const examples = findingExamples(page);

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
});
afterAll(() => service.close());

const rulesOf = async (fields: object): Promise<readonly RuleName[]> => {
  const payload = { ...base, ...fields };
  const answer = await service.request({ method: 'POST', url: '/v1/messages/analyze', key, payload });
  return answer.json().findings.map(({ rule }: { rule: RuleName }) => rule);
};

test('the message of docs/checking-content.md has no finding but that mail is captured', async () => {
  expect(await rulesOf({})).toEqual(['mail-captured']);
});

describe('an example of docs/checking-content.md', () => {
  const written = examples.flatMap(({ rule, fields }) => (fields === null ? [] : [[rule, fields] as const]));

  test.each(written)('has the finding %s', async (rule, fields) => {
    expect(await rulesOf(fields)).toContain(rule);
  });
});

const DOMAIN: DomainFacts = {
  name: 'example.test',
  capturing: false,
  verified: true,
  spf: 'valid',
  dkim: 'valid',
  dmarc: 'valid',
};
const KIB = 1024;

interface Case {
  readonly domain?: Partial<DomainFacts>;
  readonly subject?: string;
  readonly html?: string;
  readonly sizeBytes?: number;
}

/** Messages for the examples in words, each just inside the bound, and its neighbour outside. */
const IN_WORDS: readonly (readonly [RuleName, Case, Case])[] = [
  ['domain-not-verified', { domain: { verified: false } }, {}],
  ['dkim-not-valid', { domain: { dkim: 'missing' } }, {}],
  ['spf-not-valid', { domain: { spf: 'invalid' } }, {}],
  ['dmarc-not-valid', { domain: { dmarc: 'missing' } }, {}],
  ['authentication-unchecked', { domain: { spf: 'unknown' } }, {}],
  ['mail-captured', { domain: { capturing: true } }, {}],
  ['subject-too-long', { subject: 'x'.repeat(151) }, { subject: 'x'.repeat(150) }],
  ['subject-long', { subject: 'x'.repeat(79) }, { subject: 'x'.repeat(78) }],
  ['html-clipped', { html: 'x'.repeat(102 * KIB + 1) }, { html: 'x'.repeat(102 * KIB) }],
  ['html-deep', { html: `${'<div>'.repeat(101)}x` }, { html: `${'<div>'.repeat(100)}x` }],
  ['message-large', { sizeBytes: 10_000_001 }, { sizeBytes: 10_000_000 }],
];

const analyze = ({ domain, subject = base.subject, html = base.html, sizeBytes }: Case): readonly RuleName[] => {
  const draft = {
    from: { address: 'hello@example.test' },
    replyTo: [],
    recipients: [{ address: base.to, kind: 'to' as const }],
    subject,
    html,
    text: base.text,
    headers: {},
    attachments: [],
    tags: [],
    metadata: {},
    stream: 'transactional' as const,
    ttlSeconds: 1,
  };
  const input = inputOf({ draft, domain: { ...DOMAIN, ...domain } });
  return analyzeMessage({ ...input, ...(sizeBytes === undefined ? {} : { sizeBytes }) }).findings.map(
    ({ rule }) => rule,
  );
};

describe('an example in words', () => {
  test.each(IN_WORDS)('has the finding %s, and its neighbour does not', (rule, inside, outside) => {
    expect(analyze(inside)).toContain(rule);
    expect(analyze(outside)).not.toContain(rule);
  });

  test('is tested for every such row', () => {
    const rows = examples.filter(({ fields }) => fields === null).map(({ rule }) => rule);
    expect(IN_WORDS.map(([rule]) => rule)).toEqual(rows);
  });
});
