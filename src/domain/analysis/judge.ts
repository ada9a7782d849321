import { createPlaces, type HtmlProblem, type Places } from '../../lib/html/html.ts';
import {
  type Analysis,
  FINDINGS_MAX,
  type Finding,
  RULE_TABLE,
  type Rule,
  type RuleName,
  type Severity,
  type Verdict,
} from './analysis.ts';
import { attachments, authentication, lookalikes, sender, subject, unsubscribe } from './check-headers.ts';
import {
  activeContent,
  hiddenText,
  imageHeavy,
  images,
  invalidHtml,
  linkHosts,
  linkTargets,
  linkTexts,
  size,
  validHtml,
} from './check-html.ts';
import { encodingDamage, secrets, templateMarkers, textPart } from './check-texts.ts';
import type { Check, Discovery, MessageFacts } from './facts.ts';

/** Further findings of a rule are only counted: the cause of ten is the cause of all. */
const FINDINGS_PER_RULE_MAX = 10;
const SCORE_MAX = 100;

const CHECKS: readonly Check[] = [
  authentication,
  sender,
  lookalikes,
  unsubscribe,
  subject,
  templateMarkers,
  encodingDamage,
  secrets,
  textPart,
  validHtml,
  size,
  activeContent,
  hiddenText,
  linkTargets,
  linkTexts,
  linkHosts,
  images,
  imageHeavy,
  attachments,
];

const SEVERITIES: readonly Severity[] = ['error', 'warning', 'info'];
const VERDICTS: Readonly<Record<Severity, Verdict>> = { error: 'fail', warning: 'warn', info: 'pass' };
const RULES: Readonly<Record<RuleName, Rule>> = RULE_TABLE;
const RULE_NAMES = Object.keys(RULE_TABLE) as RuleName[];

interface RuleCount {
  count: number;
  readonly first: Discovery[];
}

const countByRule = (facts: MessageFacts): ReadonlyMap<RuleName, RuleCount> => {
  const counts = new Map<RuleName, RuleCount>();
  for (const check of CHECKS) {
    for (const found of check(facts)) {
      const { rule } = found;
      const known = counts.get(rule) ?? { count: 0, first: [] };
      known.count += 1;
      if (known.first.length < FINDINGS_PER_RULE_MAX) known.first.push(found);
      counts.set(rule, known);
    }
  }
  return counts;
};

type PlacesByField = Readonly<Record<string, Places>>;

/** @param more number of findings that are not listed after this one. */
const sentence = (said: string, more: number): string =>
  `${said.charAt(0).toUpperCase()}${said.slice(1)}${more > 0 ? ` (and ${more} more of this rule)` : ''}.`;

const findingOf = ({ rule, field, message, at }: Discovery, places: PlacesByField, more: number): Finding => {
  const place = typeof at === 'number' ? places[field]?.(at) : at;
  const { severity, fix } = RULES[rule];
  return { rule, severity, message: sentence(message(), more), field, ...(place === undefined ? {} : place), fix };
};

const listedOf = ({ count, first }: RuleCount, places: PlacesByField): readonly Finding[] =>
  first.map((found, index) => findingOf(found, places, index === first.length - 1 ? count - first.length : 0));

/** Findings about HTML that was accepted although the strict rule rejects it. */
export const htmlFindings = (problems: readonly HtmlProblem[]): readonly Finding[] =>
  listedOf({ count: problems.length, first: invalidHtml(problems).slice(0, FINDINGS_PER_RULE_MAX) }, {});

const findingsOf = (counts: ReadonlyMap<RuleName, RuleCount>, places: PlacesByField): readonly Finding[] =>
  SEVERITIES.flatMap((severity) => RULE_NAMES.filter((rule) => RULES[rule].severity === severity)).flatMap((rule) => {
    return listedOf(counts.get(rule) ?? { count: 0, first: [] }, places);
  });

const bounded = (findings: readonly Finding[]): readonly Finding[] => {
  const listed = findings.slice(0, FINDINGS_MAX);
  const last = listed.at(-1);
  if (last === undefined || findings.length === listed.length) return listed;
  const message = `${last.message} ${findings.length - listed.length} less important findings are not listed.`;
  return [...listed.slice(0, -1), { ...last, message }];
};

const scoreOf = (counts: ReadonlyMap<RuleName, RuleCount>): number => {
  const taken = [...counts].map(([rule, { count }]) => Math.min(RULES[rule].points * count, RULES[rule].pointsMax));
  return Math.max(
    0,
    taken.reduce((score, points) => score - points, SCORE_MAX),
  );
};

/** Applies all rules to a message. The same facts always give the same analysis. */
export const judge = (facts: MessageFacts): Analysis => {
  const counts = countByRule(facts);
  const places = { html: createPlaces(facts.html?.source ?? ''), text: createPlaces(facts.text ?? '') };
  const worst = SEVERITIES.find((severity) => [...counts.keys()].some((rule) => RULES[rule].severity === severity));
  return {
    score: scoreOf(counts),
    verdict: VERDICTS[worst ?? 'info'],
    findings: bounded(findingsOf(counts, places)),
    sizeBytes: facts.sizeBytes,
  };
};
