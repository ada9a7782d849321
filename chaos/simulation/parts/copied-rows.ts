export type Row = Readonly<Record<string, unknown>>;

const COLUMNS = /^copy \w+ \((.*)\) from stdin$/;
const ESCAPED: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', '\\': '\\' };
/** Columns whose values are parsed as JSON. */
const NO_TEXT = new Set(['recipients', 'partial', 'size_bytes']);

const camelCase = (column: string): string => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

const readCell = (column: string, cell: string): unknown => {
  if (cell === '\\N') return null;
  const text = cell.replace(/\\(.)/g, (_, letter: string) => ESCAPED[letter] ?? letter);
  return NO_TEXT.has(column) ? (JSON.parse(text) as unknown) : text;
};

/** Parses rows of `copy … from stdin` in the text format, with the column names that JSON statements use. */
export const copiedRows = (statement: string, lines: string): readonly Row[] => {
  const columns = (COLUMNS.exec(statement)?.[1] ?? '').split(', ');
  const rows = lines.split('\n').slice(0, -1);
  return rows.map((line) => {
    const cells = line.split('\t');
    return Object.fromEntries(columns.map((column, at) => [camelCase(column), readCell(column, cells[at] ?? '')]));
  });
};
