import type { Statement } from './durable-postgres.ts';
import type { Floor, JudgedLine } from './line.ts';
import { type Shares, stageOfStatement } from './stages.ts';

const DIGITS = 3;

const figure = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(DIGITS)));

const floorText = (floor: Floor | undefined): string => {
  if (floor === undefined) return '';
  return 'atLeast' in floor ? `≥ ${floor.atLeast.toLocaleString('en')}` : `≤ ${floor.atMost.toLocaleString('en')}`;
};

const VERDICTS = { true: 'met', false: 'MISSED', null: '' } as const;

const figureText = ({ unit, ours, skipped, failed }: JudgedLine): string => {
  if (failed !== undefined) return `failed: ${failed.split('\n')[0]}`;
  return skipped === undefined ? `${figure(ours)} ${unit}` : `skipped: ${skipped}`;
};

const cellsOf = (line: JudgedLine): readonly string[] => {
  const { measure, limit, limitFigure, ratio, floor, met } = line;
  return [
    measure,
    figureText(line),
    limitFigure === null || limit === undefined ? '' : `${figure(limitFigure)} (${limit.what})`,
    ratio === null ? '' : ratio.toFixed(2),
    `${floorText(floor)}${floor?.of === 'ratio' ? ' ×' : ''}`,
    VERDICTS[`${met}`],
  ];
};

const HEAD = ['measure', 'ours', 'limit or peer measured beside it', 'ratio', 'target', ''];

const cpuText = ({ measure, cpuMicros }: JudgedLine): readonly string[] =>
  cpuMicros === undefined
    ? []
    : [
        `${measure}: ${Object.entries(cpuMicros)
          .map(([process, micros]) => `${process} ${micros}`)
          .join(', ')}`,
      ];

const WIDEST_STAGE = 36;
const PERCENT = 100;

/** Formats the stages of a profile. */
export const sharesText = (name: string, shares: Shares): string =>
  [
    `stages of ${name} in %`,
    ...Object.entries(shares).map(([stage, share]) => `  ${stage.padEnd(WIDEST_STAGE)}${(share * PERCENT).toFixed(1)}`),
  ].join('\n');

const WIDEST_FIGURE = 9;

const STATEMENTS_MAX = 15;
const STATEMENT_CHARACTERS_MAX = 90;

/** PostgreSQL's time by stage, including waiting for the client, and its most expensive statements. */
export const statementsText = (statements: readonly Statement[]): string => {
  const stages = Map.groupBy(statements, ({ text }) => stageOfStatement(text));
  const sums = [...stages].map(([stage, of]) => [stage, of.reduce((sum, { ms }) => sum + ms, 0)] as const);
  return [
    'PostgreSQL by stage: ms in all',
    ...sums.sort(([, a], [, b]) => b - a).map(([stage, ms]) => `  ${stage.padEnd(WIDEST_STAGE)}${ms.toFixed(0)}`),
    'PostgreSQL by statement: ms in all, calls, µs a call',
    ...statements.slice(0, STATEMENTS_MAX).map(({ text, calls, ms }) => {
      const figures = [ms.toFixed(0), String(calls), ((ms * 1_000) / calls).toFixed(0)];
      return `  ${figures.map((one) => one.padStart(WIDEST_FIGURE)).join('')}  ${text.slice(0, STATEMENT_CHARACTERS_MAX)}`;
    }),
  ].join('\n');
};

const budgetText = ({ measure, budget, budgetUnit = 'µs' }: JudgedLine): readonly string[] => {
  if (budget === undefined) return [];
  const total = Object.values(budget).reduce((sum, micros) => sum + micros, 0);
  const rows = Object.entries({ ...budget, 'in all': total });
  return [
    `budget of a unit in ${budgetUnit}: ${measure}`,
    ...rows.map(([stage, micros]) => `  ${stage.padEnd(WIDEST_STAGE)}${Number(micros.toFixed(1))}`),
  ];
};

/** Processor time per unit of the measured process by stage; empty without a budget. */
export const budgetsOf = (lines: readonly JudgedLine[]): string => lines.flatMap(budgetText).join('\n');

/** Processor time per unit of each process, in microseconds; empty if none was measured. */
export const cpuTextOf = (lines: readonly JudgedLine[]): string => {
  const texts = lines.flatMap(cpuText);
  return texts.length === 0 ? '' : ['processor time of a unit in µs', ...texts].join('\n');
};

/** Formats the table. Columns are as wide as their widest cell. */
export const tableOf = (lines: readonly JudgedLine[]): string => {
  const rows = [HEAD, ...lines.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const text = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const [head = [], ...rest] = rows;
  return [text(head), text(widths.map((width) => '─'.repeat(width))), ...rest.map(text)].join('\n');
};
