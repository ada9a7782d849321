import { analyzeMessage, inputOf } from '../../../../src/adapters/html/analyzer.ts';
import type { Analysis, RuleName } from '../../../../src/domain/analysis/analysis.ts';
import type { AnalyzedMessage, DomainFacts } from '../../../../src/domain/analysis/facts.ts';

type Draft = AnalyzedMessage['draft'];

const CLEAN: Draft = {
  from: { address: 'shop@shop.example', name: 'Shop' },
  replyTo: [],
  recipients: [{ address: 'ann@example.org', kind: 'to' }],
  subject: 'Your order of Friday',
  text: 'Thank you for your order.',
  headers: {},
  attachments: [],
  tags: [],
  metadata: {},
  stream: 'transactional',
  ttlSeconds: 3600,
};

const IN_ORDER: DomainFacts = {
  name: 'shop.example',
  verified: true,
  capturing: false,
  spf: 'valid',
  dkim: 'valid',
  dmarc: 'valid',
};

/** A message without findings, except for the given fields. */
export const messageWith = (draft: Partial<Draft> = {}, domain: Partial<DomainFacts> = {}): AnalyzedMessage => ({
  draft: { ...CLEAN, ...draft },
  domain: { ...IN_ORDER, ...domain },
});

/** @param without fields of the ordinary message to omit. */
export const analysed = (
  draft: Partial<Draft> = {},
  domain: Partial<DomainFacts> = {},
  without: readonly (keyof Draft)[] = [],
): Analysis => {
  const message = messageWith(draft, domain);
  const kept = Object.entries(message.draft).filter(([name]) => !without.some((one) => one === name));
  return analyzeMessage(inputOf({ ...message, draft: Object.fromEntries(kept) as unknown as Draft }));
};

/** Findings as `rule field line:column`. */
export const told = (draft: Partial<Draft>, domain: Partial<DomainFacts> = {}): readonly string[] =>
  analysed(draft, domain).findings.map(({ rule, field, line, column }) =>
    [rule, field, ...(line === undefined ? [] : [`${line}:${column}`])].join(' '),
  );

/** Findings in HTML with a matching text part, without those that every fragment has. */
export const toldOfHtml = (html: string, draft: Partial<Draft> = {}): readonly string[] =>
  told({ html, text: 'Thank you for your order.', ...draft }).filter((one) => !IGNORED.test(one));

const IGNORED = /^(?:link-other-site|image-without-width|image-heavy|body-empty) /;

/** Number of findings of a rule. */
export const countOf = (rule: RuleName, draft: Partial<Draft>): number =>
  analysed(draft).findings.filter((finding) => finding.rule === rule).length;
