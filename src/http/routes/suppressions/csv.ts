import Papa from 'papaparse';

/** What spreadsheets take for a formula, and what tells that such a text was escaped. */
const ACTIVE = /^[=+\-@\t\r']/;
const ESCAPED = /^'[=+\-@\t\r']/;

/** A cell that no spreadsheet takes for a formula (an apostrophe in front says that it is text). */
export const escapeFormula = (cell: string): string => (ACTIVE.test(cell) ? `'${cell}` : cell);

/** The same text as before `escapeFormula`. */
export const unescapeFormula = (cell: string): string => (ESCAPED.test(cell) ? cell.slice(1) : cell);

/** One record of a CSV file that is not empty. */
export interface CsvRecord {
  /** On which line of the file it begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** Larger pieces keep others waiting, smaller ones take longer: a piece takes some milliseconds. */
const PIECE_CHARACTERS = 50_000;
/** What is in no record yet is read again with every piece: a field without an end would cost the square of its length. */
const PIECES_WITHOUT_RECORD_MAX = 2;
const DELIMITERS = [',', ';', '\t'];
const LINE_BREAK = /\r\n|\n|\r/g;

/** Names of columns hold none of the delimiters: the first that is there is the one. */
const delimiterOf = (csv: string): string => {
  const [header = ''] = csv.slice(0, PIECE_CHARACTERS).split(/[\r\n]/, 1);
  return DELIMITERS.find((one) => header.includes(one)) ?? ',';
};

const isEmpty = (fields: readonly string[]): boolean => fields.every((field) => field.trim() === '');

const linesIn = (fields: readonly string[]): number =>
  fields.reduce((sum, field) => sum + (field.match(LINE_BREAK)?.length ?? 0), 1);

type Piece = Papa.ParseResult<string[]>;

/** Why the file cannot be read on; null: it can. @param piecesWithout how many pieces in a row held no end of a record. */
const problemWith = ({ errors }: Piece, piecesWithout: number): string | null => {
  if (errors.length > 0) return 'must have quotes only around whole fields, doubled within';
  return piecesWithout > PIECES_WITHOUT_RECORD_MAX ? `must have rows of at most ${PIECE_CHARACTERS} characters` : null;
};

const createRecords = () => {
  const records: CsvRecord[] = [];
  let line = 1;
  let piecesWithout = 0;
  return {
    records,
    /** @returns a problem, or null. */
    add: (piece: Piece): string | null => {
      piecesWithout = piece.data.length === 0 ? piecesWithout + 1 : 0;
      for (const fields of piece.data) {
        if (!isEmpty(fields)) records.push({ line, fields });
        line += linesIn(fields);
      }
      return problemWith(piece, piecesWithout);
    },
  };
};

/** The records of a file (RFC 4180), or, as a predicate, why it has none. Read in pieces: others get their turn in between. */
export const readCsv = (csv: string): Promise<readonly CsvRecord[] | string> =>
  new Promise((resolve, reject) => {
    const { records, add } = createRecords();
    Papa.parse<string[]>(csv, {
      delimiter: delimiterOf(csv),
      chunkSize: PIECE_CHARACTERS,
      chunk: (piece: Piece, parser: Papa.Parser) => {
        const problem = add(piece);
        if (problem !== null) {
          resolve(problem);
          parser.abort();
          return;
        }
        parser.pause();
        setImmediate(() => parser.resume());
      },
      complete: () => resolve(records),
      error: reject,
    });
  });
