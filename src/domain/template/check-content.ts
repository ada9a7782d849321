import type { TemplateCheck, VariableUse } from '../../lib/templates/templates.ts';
import { VIEW_URL_VARIABLE } from '../message/recipient-link.ts';
import { CONTENT_VARIABLE, type TemplateContent } from './content.ts';
import { valueProblem } from './variables.ts';

/** Sentences by content field: `html`, `locales.de.subject`, `variables.name`. */
export type ContentProblems = Readonly<Record<string, readonly string[]>>;

/** Liquid sources by content field. */
export const sourcesOf = (content: TemplateContent): ReadonlyMap<string, string> => {
  const parts = ['subject', 'html', 'text', 'preheader'] as const;
  const all: [string, string | undefined][] = [
    ...parts.map((part): [string, string | undefined] => [part, content[part]]),
    ...Object.entries(content.locales).flatMap(([tag, localized]) =>
      parts.map((part): [string, string | undefined] => [`locales.${tag}.${part}`, localized[part]]),
    ),
    ['from', content.from],
    ...(content.replyTo ?? []).map((each, index): [string, string] => [`reply_to.${index}`, each]),
  ];
  return new Map(all.filter((each): each is [string, string] => each[1] !== undefined));
};

const place = (field: string, { line, column }: Pick<VariableUse, 'line' | 'column'>): string =>
  `${field} line ${line}, column ${column}`;

const declarationProblems = (content: TemplateContent, used: ReadonlySet<string>): readonly [string, string][] =>
  content.variables.flatMap(({ name, type, example, default: standard }): [string, string][] => {
    const field = `variables.${name}`;
    const wrong = (what: string, value: unknown): [string, string][] => {
      const problem = value === undefined || value === null ? null : valueProblem(type, value);
      return problem === null ? [] : [[field, `${field}: its ${what} ${problem}`]];
    };
    return [
      ...(used.has(name) ? [] : [[field, `${field} is declared, and no part uses it`] as [string, string]]),
      ...wrong('default', standard),
      ...wrong('example', example),
    ];
  });

const byField = (found: readonly (readonly [string, string])[]): ContentProblems => {
  const problems: Record<string, string[]> = {};
  for (const [field, sentence] of found) {
    problems[field] ??= [];
    problems[field].push(sentence);
  }
  return problems;
};

/** Parts in which each copy has its own view URL. */
const SHOWS_ADDRESS = /(?:^|\.)(?:html|text)$/;

const isBuiltIn = (field: string, name: string): boolean =>
  name === CONTENT_VARIABLE || (name === VIEW_URL_VARIABLE && SHOWS_ADDRESS.test(field));

/**
 * Problems that prevent publication of a draft: invalid Liquid, variables used but not declared, or declared but not
 * used, and defaults and examples of the wrong type. Each sentence names line and column.
 * @param checks check result for each of `sourcesOf`.
 */
export const contentProblems = (
  content: TemplateContent,
  checks: ReadonlyMap<string, TemplateCheck>,
): ContentProblems => {
  const declared = new Set(content.variables.map(({ name }) => name));
  const checked = [...checks].map(([field, check]) => ({ field, ...check }));
  const uses = checked.flatMap((each) => each.uses.map((use) => ({ ...use, field: each.field })));
  const used = new Set(uses.map(({ name }) => name));
  return byField([
    ...checked.flatMap(({ field, problem }): [string, string][] =>
      problem === null ? [] : [[field, `${place(field, problem)}: ${problem.sentence}`]],
    ),
    ...uses
      .filter(({ field, name }) => !declared.has(name) && !isBuiltIn(field, name))
      .map((use): [string, string] => [use.field, `${place(use.field, use)}: variable '${use.name}' is not declared`]),
    ...declarationProblems(content, used),
  ]);
};
