import Papa from 'papaparse';
import { type ExportRecord, fail } from './export-record.ts';

/** Maximum length of a row. Bounce reasons have a few kB. */
const ROW_CHARACTERS_MAX = 100_000;
const isBlank = (text: string): boolean => text.trim() === '';

/** Matches a column that every CSV export has, such as `Email Address`. */
const ADDRESS = /e-?mail/i;
const NEITHER = 'is neither JSON nor the names of the columns of a CSV file, of which one is email';

const DELIMITERS = [',', ';', '\t'];

/** Splits chunks of text into rows. Quoted fields may contain line breaks. */
const createRows = () => {
  let line = 1;
  let pending = '';
  let begunAt = 1;
  let quotes = 0;

  const take = (text: string): { readonly line: number; readonly text: string } | null => {
    pending += text;
    quotes += text.split('"').length - 1;
    if (pending.length > ROW_CHARACTERS_MAX)
      throw fail(begunAt, `has a row of more than ${ROW_CHARACTERS_MAX} characters`);
    if (!text.endsWith('\n')) return null;
    line += 1;
    if (quotes % 2 === 1) return null;
    const row = { line: begunAt, text: pending.replace(/\r?\n$/, '') };
    pending = '';
    begunAt = line;
    return row;
  };

  return {
    add: function* (text: string) {
      for (const part of text.split(/(?<=\n)/)) {
        const row = take(part);
        if (row !== null) yield row;
      }
    },
    end: () => {
      if (quotes % 2 === 1) throw fail(begunAt, 'has a quote that does not end');
      return isBlank(pending) ? [] : [{ line: begunAt, text: pending }];
    },
  };
};

const cellsOf = (row: { readonly line: number; readonly text: string }, delimiter: string): readonly string[] => {
  const { data, errors } = Papa.parse<string[]>(row.text, { delimiter });
  if (errors.length > 0) throw fail(row.line, 'must have quotes only around whole fields, doubled within');
  return data[0] ?? [];
};

/** Finds records in chunks of CSV. The first row names the columns. */
export const createCsvScan = () => {
  const rows = createRows();
  let columns: readonly string[] | null = null;
  let delimiter = ',';

  const recordOf = (row: { readonly line: number; readonly text: string }): readonly ExportRecord[] => {
    if (isBlank(row.text)) return [];
    if (columns === null) {
      delimiter = DELIMITERS.find((one) => row.text.includes(one)) ?? ',';
      columns = cellsOf(row, delimiter).map((name) => name.trim());
      if (!columns.some((name) => ADDRESS.test(name))) throw fail(row.line, NEITHER);
      return [];
    }
    const cells = cellsOf(row, delimiter);
    const fields = columns.map((name, index) => [name, cells[index]?.trim() ?? ''] as const);
    return [{ line: row.line, fields: Object.fromEntries(fields.filter(([, cell]) => cell !== '')) }];
  };

  return {
    add: function* (text: string): Generator<ExportRecord> {
      for (const row of rows.add(text)) yield* recordOf(row);
    },
    end: (): readonly ExportRecord[] => rows.end().flatMap(recordOf),
  };
};
