import { createReadStream } from 'node:fs';
import Papa from 'papaparse';
import { CommandFailed } from '../terminal.ts';

export interface ExportRecord {
  /** Line of the file where the record starts, from 1. */
  readonly line: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

const fail = (line: number, problem: string): CommandFailed => new CommandFailed(`line ${line}: ${problem}`);

/** Maximum length of a row. Bounce reasons have a few kB. */
const ROW_CHARACTERS_MAX = 100_000;
const isBlank = (text: string): boolean => text.trim() === '';

/** Matches a column that every CSV export has, such as `Email Address`. */
const ADDRESS = /e-?mail|^address$/i;
const NEITHER = 'is neither JSON nor a CSV header with an email or address column';

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
      if (quotes % 2 === 1) throw fail(begunAt, 'has an unclosed quote');
      return isBlank(pending) ? [] : [{ line: begunAt, text: pending }];
    },
  };
};

const cellsOf = (row: { readonly line: number; readonly text: string }, delimiter: string): readonly string[] => {
  const { data, errors } = Papa.parse<string[]>(row.text, { delimiter });
  if (errors.length > 0)
    throw fail(
      row.line,
      'has a misplaced quote: quotes must enclose whole fields, and quotes within a field must be doubled',
    );
  return data[0] ?? [];
};

/** Finds records in chunks of CSV. The first row names the columns. */
const createCsvScan = () => {
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

/** Fits a template, which contains its HTML at most twice. A longer object is not an export record. */
const RECORD_CHARACTERS_MAX = 4_000_000;
/** Names of the members that hold the list in exports. */
const LISTS: ReadonlySet<string> = new Set([
  'data',
  'items',
  'result',
  'results',
  'templates',
  'Suppressions',
  'Templates',
  'Domains',
]);
/** A complete string, the start of an incomplete string, or a structural character outside strings. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|["{}[\]:\n]/gs;

const parseRecord = ({ text, line }: { readonly text: string; readonly line: number }): ExportRecord => {
  try {
    return { line, fields: JSON.parse(text) as ExportRecord['fields'] };
  } catch {
    throw fail(line, 'is not valid JSON');
  }
};

/** Finds records in chunks of JSON: the objects of a list, or an object without a list of a known name. */
const createJsonScan = () => {
  /** Start of an incomplete string. */
  let rest = '';
  let line = 1;
  let depth = 0;
  /** Depth at which an object is a record; 0: no object is a record. */
  let recordDepth = 1;
  /** The last string, and the root member that it named. */
  let string = '';
  let member = '';
  let record: { readonly line: number; text: string } | null = null;

  const requireShort = (text: string, at: number): void => {
    if (text.length > RECORD_CHARACTERS_MAX)
      throw fail(at, `has a record of more than ${RECORD_CHARACTERS_MAX} characters`);
  };

  const keep = (part: string): void => {
    if (record === null) return;
    record.text += part;
    requireShort(record.text, record.line);
  };

  const beginList = (): null => {
    depth += 1;
    if (depth === 1) recordDepth = 2;
    const isList = depth === 2 && recordDepth <= 1 && LISTS.has(member);
    if (!isList) return null;
    recordDepth = 3;
    record = null; // the root is not a record itself
    return null;
  };

  const leave = (): void => {
    depth -= 1;
    if (depth === 0) recordDepth = 1;
    if (depth === 1 && recordDepth === 3) recordDepth = 0; // the list has ended
  };

  const end = (): ExportRecord | null => {
    if (depth === 0) throw fail(line, 'is not valid JSON');
    const ended = depth === recordDepth ? record : null;
    leave();
    if (ended === null) return null;
    record = null;
    return parseRecord(ended);
  };

  /** Handlers for structural characters. */
  const signs: Readonly<Record<string, () => ExportRecord | null>> = {
    '\n': () => {
      line += 1;
      return null;
    },
    ':': () => {
      if (depth === 1) member = string;
      return null;
    },
    '{': () => {
      depth += 1;
      if (depth === recordDepth) record ??= { line, text: '{' };
      return null;
    },
    '[': beginList,
    '}': end,
    ']': end,
  };

  /** @returns the record that ends with the token, if any. */
  const take = (token: string, part: string): ExportRecord | null => {
    keep(part);
    const sign = signs[token];
    if (sign === undefined) string = token.slice(1, -1);
    return sign?.() ?? null;
  };

  return {
    add: function* (text: string): Generator<ExportRecord> {
      const buffer = rest + text;
      let from = 0;
      for (const { 0: token, index } of buffer.matchAll(TOKEN)) {
        if (token === '"') break;
        const to = index + token.length;
        const ended = take(token, buffer.slice(from, to));
        from = to;
        if (ended !== null) yield ended;
      }
      rest = buffer.slice(from);
      requireShort(rest, line);
    },
    end: (): readonly ExportRecord[] => {
      if (depth > 0 || rest.includes('"')) throw fail(line, 'the file ends in the middle of a record');
      return [];
    },
  };
};

/**
 * Reads the records of an export one at a time in bounded memory. It accepts JSON as APIs return it (a list, an object
 * with a list, one record, or one record per line) and CSV with a header row. The first character tells which it is.
 */

/** Yields a file's text in chunks. @throws {CommandFailed} if the file cannot be read. */
async function* textOf(file: string): AsyncGenerator<string> {
  const stream = createReadStream(file, { encoding: 'utf8' });
  try {
    let isFirst = true;
    for await (const chunk of stream as AsyncIterable<string>) {
      yield isFirst ? chunk.replace(/^\ufeff/, '') : chunk;
      isFirst = false;
    }
  } catch (error) {
    throw new CommandFailed(`${file} cannot be read: ${error instanceof Error ? error.message : 'unknown'}`);
  }
}

/** @throws {CommandFailed} naming the line. */
export async function* readRecords(file: string): AsyncGenerator<ExportRecord> {
  let scan: ReturnType<typeof createJsonScan> | ReturnType<typeof createCsvScan> | null = null;
  let isEmpty = true;
  for await (const text of textOf(file)) {
    isEmpty &&= text.trim() === '';
    scan ??= /^\s*[[{]/.test(text) ? createJsonScan() : createCsvScan();
    yield* scan.add(text);
  }
  if (isEmpty) throw new CommandFailed(`${file} is empty`);
  yield* scan?.end() ?? [];
}
