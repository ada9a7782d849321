/** Longer names are compared by their beginning: the work grows with the square of the length. */
const COMPARED_CHARACTERS = 60;
/** A suggestion may differ in one of this many characters. Fewer: wild guesses. More: two typos in a word find nothing. */
const CHARACTERS_PER_TYPO = 3;

/**
 * Typos between two names (optimal string alignment): characters to insert, delete, replace, or swap with the next one.
 * `table[row][column]` counts those between the first characters of `left` and of `right`.
 */
const typos = (left: string, right: string): number => {
  const table: number[][] = [Array.from({ length: right.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => table[row]?.[column] ?? Number.POSITIVE_INFINITY;
  const isSwap = (row: number, column: number): boolean =>
    left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
  const fewest = (row: number, column: number): number =>
    Math.min(
      at(row - 1, column) + 1,
      at(row, column - 1) + 1,
      at(row - 1, column - 1) + Number(left[row - 1] !== right[column - 1]),
      isSwap(row, column) ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
    );
  for (let row = 1; row <= left.length; row += 1) {
    const cells = [row];
    table.push(cells);
    for (let column = 1; column <= right.length; column += 1) cells.push(fewest(row, column));
  }
  return at(left.length, right.length);
};

/** The candidate that a misspelled name most likely means; undefined: none is similar enough. */
export const nearest = (name: string, candidates: Iterable<string>): string | undefined => {
  const wanted = name.slice(0, COMPARED_CHARACTERS).toLowerCase();
  let fewest = wanted.length / CHARACTERS_PER_TYPO;
  let best: string | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) > fewest) continue;
    const count = typos(wanted, candidate.toLowerCase());
    const isNearer = best === undefined ? count <= fewest : count < fewest;
    if (isNearer) [fewest, best] = [count, candidate];
  }
  return best;
};
