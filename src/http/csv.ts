import Papa from 'papaparse';

/** Cells that spreadsheets evaluate as formulas, and such cells after escaping. */
const ACTIVE = /^[=+\-@\t\r']/;
const ESCAPED = /^'[=+\-@\t\r']/;

const LINE_BREAK = '\r\n';

type Cell = string | number | null;

/** Prefixes a cell that would be evaluated as a formula with an apostrophe. */
const escapeFormula = (cell: Cell): Cell => (typeof cell === 'string' && ACTIVE.test(cell) ? `'${cell}` : cell);

/** Rows of a file (RFC 4180), each ended by a line break; formulas are escaped. */
export const writeCsv = (rows: readonly (readonly Cell[])[]): string =>
  Papa.unparse(
    rows.map((cells) => cells.map(escapeFormula)),
    { newline: LINE_BREAK },
  ) + LINE_BREAK;

/** A cell that was read, without the apostrophe that `writeCsv` puts before a formula. */
export const unescapeFormula = (cell: string): string => (ESCAPED.test(cell) ? cell.slice(1) : cell);

/** A non-empty record of a CSV file. */
export interface CsvRecord {
  /** Line of the file on which it begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** A chunk takes some milliseconds. Larger delays other requests, smaller takes longer. */
const PIECE_CHARACTERS = 50_000;
/** An unfinished record is parsed again with every chunk: a field without an end would cost quadratic time. */
const PIECES_WITHOUT_RECORD_MAX = 2;
const DELIMITERS = [',', ';', '\t'];
const LINE_BREAKS = /\r\n|\n|\r/g;

/** Column names hold no delimiter: the first delimiter found in the header counts. */
const delimiterOf = (csv: string): string => {
  const [header = ''] = csv.slice(0, PIECE_CHARACTERS).split(/[\r\n]/, 1);
  return DELIMITERS.find((one) => header.includes(one)) ?? ',';
};

const isEmpty = (fields: readonly string[]): boolean => fields.every((field) => field.trim() === '');

const linesIn = (fields: readonly string[]): number =>
  fields.reduce((sum, field) => sum + (field.match(LINE_BREAKS)?.length ?? 0), 1);

type Piece = Papa.ParseResult<string[]>;

/**
 * Why the file is invalid; null: so far it is valid.
 * @param piecesWithout consecutive chunks without the end of a record.
 */
const problemWith = ({ errors }: Piece, piecesWithout: number): string | null => {
  if (errors.length > 0)
    return 'has a misplaced double quote: put quotes around a whole field, and double the quotes inside it';
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

/**
 * Parses a file (RFC 4180) in chunks, in turns with other requests.
 * @returns its records, or a predicate that says what is wrong.
 */
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
