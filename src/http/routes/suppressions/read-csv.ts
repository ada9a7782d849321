import Papa from 'papaparse';

/** One record of a CSV file. */
export interface CsvRecord {
  /** On which line of the file it begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** Larger pieces keep others waiting, smaller ones take longer: a piece takes some milliseconds. */
const PIECE_CHARACTERS = 100_000;
const DELIMITERS = [',', ';', '\t'];
const LINE_BREAK = /\r\n|\n|\r/g;

/** Names of columns hold none of the delimiters: the first that is there is the one. */
const delimiterOf = (csv: string): string => {
  const [header = ''] = csv.slice(0, PIECE_CHARACTERS).split(/[\r\n]/, 1);
  return DELIMITERS.find((one) => header.includes(one)) ?? ',';
};

const withLines = (records: readonly (readonly string[])[]): readonly CsvRecord[] => {
  let line = 1;
  return records.map((fields) => {
    const record = { line, fields };
    line += 1 + fields.reduce((sum, field) => sum + (field.match(LINE_BREAK)?.length ?? 0), 0);
    return record;
  });
};

/** The records of a file (RFC 4180), or, as a predicate, why it has none. Read in pieces: others get their turn in between. */
export const readCsv = (csv: string): Promise<readonly CsvRecord[] | string> =>
  new Promise((resolve, reject) => {
    const records: string[][] = [];
    Papa.parse<string[]>(csv, {
      delimiter: delimiterOf(csv),
      chunkSize: PIECE_CHARACTERS,
      chunk: ({ data, errors }: Papa.ParseResult<string[]>, parser: Papa.Parser) => {
        if (errors.length > 0) {
          resolve('must have quotes only around whole fields, doubled within');
          parser.abort();
          return;
        }
        records.push(...data);
        parser.pause();
        setImmediate(() => parser.resume());
      },
      complete: () => resolve(withLines(records)),
      error: reject,
    });
  });
