import { RULE_TABLE, type Rule, type RuleName } from '../../../src/domain/analysis/analysis.ts';

/** The tables of findings in `docs/checking-content.md`. The example of each is written by hand, the rest follows. */

const ROW = /^\| `([a-z-]+)` \| [^|]* \| (.*?) \| [^|]* \|$/gm;

const RULES: Readonly<Record<string, Rule>> = RULE_TABLE;

const rowOf = (name: string, example: string): string => {
  const { severity, points, pointsMax, fix } = RULES[name] ?? { severity: '', points: 0, pointsMax: 0, fix: '' };
  const most = pointsMax > points ? `, at most ${pointsMax}` : '';
  return `| \`${name}\` | ${severity}, ${points}${most} | ${example} | ${fix} |`;
};

/** The page with its tables written anew. */
export const withFindings = (page: string): string =>
  page.replace(ROW, (_, name: string, example: string) => rowOf(name, example));

export interface FindingExample {
  readonly rule: RuleName;
  /** Fields that replace those of the message of the page; null: the example is in words. */
  readonly fields: Readonly<Record<string, unknown>> | null;
}

export const findingExamples = (page: string): readonly FindingExample[] =>
  Array.from(page.matchAll(ROW), ([, name = '', example = '']) => ({
    rule: name as RuleName, // the test compares the names with the table
    fields: example.startsWith('`"') ? JSON.parse(`{${example.slice(1, -1)}}`) : null,
  }));
