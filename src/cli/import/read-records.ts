import { createReadStream } from 'node:fs';
import { CommandFailed } from '../failures.ts';
import type { ExportRecord } from './export-record.ts';
import { createCsvScan } from './scan-csv.ts';
import { createJsonScan } from './scan-json.ts';

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
