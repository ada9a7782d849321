import type { Finding } from '../../../domain/analysis/analysis.ts';
import { htmlFindings } from '../../../domain/analysis/judge.ts';
import type { Caller } from '../../../domain/api-key/key-authority.ts';
import type { HtmlEntry, HtmlRule } from '../../../domain/organization/events.ts';
import type { HtmlChecker } from '../../../lib/html/html.ts';
import type { RouteContext } from '../../endpoint.ts';
import type { Problem } from '../../validation/problems.ts';

/** Mail programs truncate larger bodies, and validation takes time in proportion. */
export const BODY_CHARACTERS_MAX = 1_000_000;

/** How the html of a send is checked. */
export interface HtmlPolicy {
  readonly checker: HtmlChecker;
  /** The rule of the entry that the message came through. */
  readonly rule: HtmlRule;
}

/** @param entry that the message came through. */
export const htmlPolicyOf = (
  { deps, auth }: Pick<RouteContext, 'deps' | 'auth'>,
  entry: HtmlEntry,
  { organizationId }: Pick<Caller, 'organizationId'>,
): HtmlPolicy => ({
  checker: deps.htmlChecker,
  rule: auth.keyCache.settingsOf(organizationId).htmlValidation[entry],
});

/** Invalid html is a finding of the analysis, not a refusal. */
export const UNCHECKED: HtmlPolicy = {
  rule: 'browser',
  checker: { check: async () => [], close: async () => undefined },
};

/** Organization whose share of the worker threads is used. */
type Sender = Pick<Caller, 'organizationId'>;

const HTML_PROBLEM = 'html must be valid HTML: ';

export const htmlProblems = async (
  { checker, rule }: HtmlPolicy,
  html: unknown,
  { organizationId }: Sender,
): Promise<readonly Problem[]> => {
  if (rule === 'browser') return [];
  if (typeof html !== 'string' || html.length > BODY_CHARACTERS_MAX) return [];
  const problems = await checker.check(html, organizationId);
  return problems.map(({ line, column, message }) => [
    'html',
    `${HTML_PROBLEM}line ${line}, column ${column}: ${message}`,
  ]);
};

/** Findings recorded for html that the rule of its entry accepts and the strict one does not. */
export const findingsIn = async (
  { checker, rule }: HtmlPolicy,
  html: string | undefined,
  { organizationId }: Sender,
): Promise<readonly Finding[]> =>
  rule === 'strict' || html === undefined ? [] : htmlFindings(await checker.check(html, organizationId));

/** Whether all problems are about the HTML. */
export const isHtmlAlone = (problems: readonly Problem[]): boolean =>
  problems.every(([, sentence]) => sentence.startsWith(HTML_PROBLEM));
