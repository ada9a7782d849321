import { createReadStream } from 'node:fs';
import { CommandFailed } from '../failures.ts';
import type { ExportRecord } from './export-record.ts';
import { createCsvScan } from './scan-csv.ts';
import { createJsonScan } from './scan-json.ts';

/**
 * Reads the records of an export, one at a time, in bounded memory: JSON as APIs answer (a list, an object with a list, one
 * record, or a record a line), or CSV with its columns in the first row. Which it is, its first character says.
 */

/** Pieces of a file as text. @throws {CommandFailed} it cannot be read. */
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

/** @throws {CommandFailed} names the line. */
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
