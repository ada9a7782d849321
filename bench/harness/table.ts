import type { Floor, JudgedLine } from './line.ts';

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

/** µs of processor time that a unit took of each process; empty where none was measured. */
export const cpuTextOf = (lines: readonly JudgedLine[]): string => {
  const texts = lines.flatMap(cpuText);
  return texts.length === 0 ? '' : ['processor time of a unit in µs', ...texts].join('\n');
};

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
