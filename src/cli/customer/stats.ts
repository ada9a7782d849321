import { isRate, RATES } from '../../domain/message/rates.ts';
import type { SerializedStats } from '../../http/resources/stats.ts';
import { type Invocation, optional, type ServiceCommand } from '../command.ts';
import { COLUMNS_DEFAULT, printable, UsageError } from '../terminal.ts';
import { withIds } from './resource-commands.ts';

/** Draws statistics in the terminal. */

type Stats = SerializedStats;
type Bucket = Stats['data'][number];

const OPTIONS = ['from', 'to', 'granularity', 'timezone', 'domain', 'stream', 'tag', 'template', 'recipient-domain'];
const METRIC_DEFAULT = 'accepted';
const ROWS = 8;
const EIGHTHS = ['', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const NUMBER = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' });
const COMPACT_FROM = 10_000;
/** Columns for a label and the axis. */
const MARGIN = 7;
const BAR_CELLS_MAX = 6;

interface PlotOptions {
  readonly columns: number;
  readonly unicode: boolean;
  /** Labels of both ends of the axis. */
  readonly ends: readonly [string, string];
}

/** Sums neighbouring values so that at most `most` remain. */
const condensed = (values: readonly number[], most: number): readonly number[] => {
  const each = Math.ceil(values.length / most);
  return Array.from({ length: Math.ceil(values.length / each) }, (_, at) =>
    values.slice(at * each, (at + 1) * each).reduce((sum, value) => sum + value, 0),
  );
};

/** Height in eighths of a row; at least one if the value is not zero. @param share share of the highest bar, 0 to 1. */
const heightOf = (share: number): number => (share > 0 ? Math.max(1, Math.round(share * ROWS * 8)) : 0);

/** The character of a bar in a row, counted from the bottom. */
const cellOf = (share: number, row: number, unicode: boolean): string => {
  const eighths = Math.min(8, Math.max(0, heightOf(share) - row * 8));
  if (unicode) return EIGHTHS[eighths] || ' ';
  return eighths > (row === 0 ? 0 : 3) ? '#' : ' ';
};

/** Formats `9,999`, and larger numbers as `10K`: at most five characters. */
const labelOf = (value: number): string => (value < COMPACT_FROM ? NUMBER : COMPACT).format(value);

/**
 * Draws bars within the width. The axis is labelled with the highest value, and neighbours are summed if they do not
 * fit.
 */
export const plot = (values: readonly number[], { columns, unicode, ends: [first, last] }: PlotOptions): string => {
  const room = Math.max(1, columns - MARGIN);
  const shown = condensed(values, room);
  const top = Math.max(0, ...shown);
  const width = Math.max(1, Math.min(BAR_CELLS_MAX, Math.floor(room / Math.max(1, shown.length))));
  // A chart without bars needs no space above the axis.
  const height = top === 0 ? 1 : ROWS;
  const rows = Array.from({ length: height }, (_, at) => height - 1 - at).map((row) => {
    const label = row === height - 1 ? labelOf(top) : row === 0 ? '0' : '';
    const bars = shown.map((value) => {
      const cell = cellOf(top === 0 ? 0 : value / top, row, unicode);
      return width > 1 ? `${cell.repeat(width - 1)} ` : cell;
    });
    return `${label.padStart(MARGIN - 2)} ${unicode ? '│' : '|'}${bars.join('')}`.trimEnd();
  });
  const drawn = Math.max(shown.length * width, first.length + last.length + 1);
  const legend = `${first}${last.padStart(Math.min(drawn, room) - first.length)}`;
  return [...rows, `${' '.repeat(MARGIN)}${legend}`.slice(0, columns)].join('\n');
};

const metricOf = (invocation: Invocation, { totals }: Stats): keyof Bucket & string => {
  const metric = optional(invocation, 'metric') ?? METRIC_DEFAULT;
  const known = Object.entries(totals).filter(([, value]) => typeof value === 'number');
  if (known.some(([name]) => name === metric)) return metric as keyof Bucket & string;
  throw new UsageError(`--metric must be one of ${known.map(([name]) => name).join(', ')}`);
};

/** Counts, each with its rate and what that is a share of. */
export const totalsText = ({ totals }: Pick<Stats, 'totals'>): string => {
  const shown = Object.entries(totals).filter(([, value]) => typeof value === 'number' && value > 0);
  const lines = shown.map(([name, value]) => {
    const rate = isRate(name) ? totals.rates[name] : null;
    const share = isRate(name) && typeof rate === 'number' ? `  ${(rate * 100).toFixed(2)} % of ${RATES[name]}` : '';
    return `  ${name.padEnd(16)}${NUMBER.format(Number(value)).padStart(12)}${share}`;
  });
  return lines.length === 0 ? '  nothing was sent' : lines.join('\n');
};

const HOUR = 'hour';
const DATE_CHARACTERS = 10;
const MINUTE_CHARACTERS = 16;

/** Formats a bucket as a day, or to the minute if buckets are hours. */
const endOf = (bucket: Bucket | undefined, { granularity }: Stats): string =>
  (bucket?.start ?? '').slice(0, granularity === HOUR ? MINUTE_CHARACTERS : DATE_CHARACTERS);

const seriesOf = ({ data }: Stats, metric: keyof Bucket & string): readonly number[] =>
  data.map((bucket) => Number(bucket[metric] ?? 0));

export const statsCommand: ServiceCommand = {
  name: 'stats',
  usage: `[--metric VALUE] ${OPTIONS.map((option) => `[--${option} VALUE]`).join(' ')}`,
  summary: 'plots recipients over time and counts them by outcome; --json prints the response of GET /v1/stats',
  needs: 'service',
  run: async (service, invocation, { json, columns, unicode }) => {
    const given = Object.fromEntries(
      OPTIONS.map((option) => [option.replaceAll('-', '_'), optional(invocation, option)]),
    );
    const query = await withIds(service, given);
    const { body: stats } = await service.ask<Stats>('GET', '/v1/stats', { query });
    if (json) return stats;
    const metric = metricOf(invocation, stats);
    const ends = [endOf(stats.data[0], stats), endOf(stats.data.at(-1), stats)] as const;
    const heading = `${metric}, by ${stats.granularity} (${stats.timezone})`;
    const drawn = plot(seriesOf(stats, metric), {
      columns: Number.isFinite(columns) ? columns : COLUMNS_DEFAULT,
      unicode,
      ends,
    });
    process.stdout.write(`${printable([heading, '', drawn, '', totalsText(stats)].join('\n'))}\n`);
    return undefined;
  },
};
