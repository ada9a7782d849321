/** What spreadsheets take for a formula, and what tells that such a text was escaped. */
const ACTIVE = /^[=+\-@\t\r']/;
const ESCAPED = /^'[=+\-@\t\r']/;

/** A cell that no spreadsheet takes for a formula (an apostrophe in front says that it is text). */
export const escapeFormula = (cell: string): string => (ACTIVE.test(cell) ? `'${cell}` : cell);

/** The same text as before `escapeFormula`. */
export const unescapeFormula = (cell: string): string => (ESCAPED.test(cell) ? cell.slice(1) : cell);
