import type { Floor, JudgedLine } from './line.ts';

const DIGITS = 3;

const figure = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(DIGITS)));

const floorText = (floor: Floor | undefined): string => {
  if (floor === undefined) return '';
  return 'atLeast' in floor ? `≥ ${floor.atLeast.toLocaleString('en')}` : `≤ ${floor.atMost.toLocaleString('en')}`;
};

const VERDICTS = { true: 'met', false: 'MISSED', null: '' } as const;

const cellsOf = ({ measure, unit, ours, limit, limitFigure, ratio, floor, met }: JudgedLine): readonly string[] => [
  measure,
  `${figure(ours)} ${unit}`,
  limitFigure === null || limit === undefined ? '' : `${figure(limitFigure)} (${limit.what})`,
  ratio === null ? '' : ratio.toFixed(2),
  `${floorText(floor)}${floor?.of === 'ratio' ? ' ×' : ''}`,
  VERDICTS[`${met}`],
];

const HEAD = ['measure', 'ours', 'limit measured beside it', 'ratio', 'floor', ''];

/** The table as text; every column as wide as its widest cell. */
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
