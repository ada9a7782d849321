/** Compares two contents of a template part by part and line by line. */

interface LineChange {
  readonly kind: 'added' | 'removed' | 'same';
  readonly text: string;
}

export interface Difference {
  /** Field, such as `html`, `locales.de.subject` or `variables`. */
  readonly field: string;
  /** Null if that version does not have the field. */
  readonly from: unknown;
  readonly to: unknown;
  /** Changed lines with their context; null for single-line texts and if too many lines differ. */
  readonly lines: readonly LineChange[] | null;
}

/** A table of this many cells takes about 20 ms. Texts that need more are compared as a whole, without lines. */
const CELLS_MAX = 4_000_000;
/** Cells computed before yielding, about 2 ms. Higher: blocks other work. Lower: more event loop turns. */
const CELLS_AT_ONCE = 400_000;
/** Lines of context around a change. */
const AROUND = 3;

/** Number of equal lines at the start of both texts. */
const sameBeginning = (from: readonly string[], to: readonly string[]): number => {
  let lines = 0;
  while (lines < from.length && lines < to.length && from[lines] === to[lines]) lines += 1;
  return lines;
};

/** Number of equal lines at the end of both texts. @param max upper bound. */
const sameEnding = (from: readonly string[], to: readonly string[], max: number): number => {
  let lines = 0;
  while (lines < max && from.at(-1 - lines) === to.at(-1 - lines)) lines += 1;
  return lines;
};

const same = (texts: readonly string[]): readonly LineChange[] => texts.map((text) => ({ kind: 'same', text }));

/** Changed lines with their context; null if too many lines differ. Yields on long texts. */
function* lineChanges(from: readonly string[], to: readonly string[]): Generator<void, readonly LineChange[] | null> {
  const start = sameBeginning(from, to);
  const end = sameEnding(from, to, Math.min(from.length, to.length) - start);
  const [before, after] = [from.slice(start, from.length - end), to.slice(start, to.length - end)];
  if ((before.length + 1) * (after.length + 1) > CELLS_MAX) return null;
  yield;
  const changes = yield* changesBetween(before, after);
  return [
    ...same(from.slice(Math.max(0, start - AROUND), start)),
    ...changes,
    ...same(from.slice(from.length - end, from.length - end + AROUND)),
  ];
}

const removed = (text: string): LineChange => ({ kind: 'removed', text });
const added = (text: string): LineChange => ({ kind: 'added', text });

function* changesBetween(from: readonly string[], to: readonly string[]): Generator<void, readonly LineChange[]> {
  const common = yield* commonLengths(from, to);
  const next = (left: number, right: number): LineChange => {
    const [before = '', after = ''] = [from[left], to[right]];
    if (before === after) return { kind: 'same', text: before };
    return common(left + 1, right) >= common(left, right + 1) ? removed(before) : added(after);
  };
  const changes: LineChange[] = [];
  let left = 0;
  let right = 0;
  while (left < from.length && right < to.length) {
    const change = next(left, right);
    changes.push(change);
    if (change.kind !== 'added') left += 1;
    if (change.kind !== 'removed') right += 1;
  }
  return [...changes, ...from.slice(left).map(removed), ...to.slice(right).map(added)];
}

/** Returns a function of two line indexes: the length of the longest common subsequence of the lines from there on. */
function* commonLengths(
  from: readonly string[],
  to: readonly string[],
): Generator<void, (left: number, right: number) => number> {
  const width = to.length + 1;
  const cells = new Uint32Array((from.length + 1) * width);
  const at = (left: number, right: number): number => cells[left * width + right] ?? 0;
  const fillRow = (left: number): void => {
    for (let right = to.length - 1; right >= 0; right -= 1) {
      cells[left * width + right] =
        from[left] === to[right] ? at(left + 1, right + 1) + 1 : Math.max(at(left + 1, right), at(left, right + 1));
    }
  };
  let sincePause = 0;
  for (let left = from.length - 1; left >= 0; left -= 1) {
    fillRow(left);
    sincePause += width;
    if (sincePause < CELLS_AT_ONCE) continue;
    yield;
    sincePause = 0;
  }
  return at;
}

/** Drops the lines that are far from every change. */
const nearChanges = (changes: readonly LineChange[]): readonly LineChange[] => {
  const near = new Set<number>();
  for (const [index, { kind }] of changes.entries()) {
    if (kind === 'same') continue;
    for (let place = index - AROUND; place <= index + AROUND; place += 1) near.add(place);
  }
  return changes.filter((_, index) => near.has(index));
};

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Flattens locales to fields such as `locales.de.html`. Other fields are unchanged. */
const flat = ({ locales, ...fields }: Fields): ReadonlyMap<string, unknown> =>
  new Map([
    ...Object.entries(fields),
    ...Object.entries(isFields(locales) ? locales : {}).flatMap(([tag, localized]) =>
      Object.entries(isFields(localized) ? localized : {}).map(([name, value]): [string, unknown] => [
        `locales.${tag}.${name}`,
        value,
      ]),
    ),
  ]);

function* linesBetween(from: unknown, to: unknown): Generator<void, readonly LineChange[] | null> {
  if (typeof from !== 'string' || typeof to !== 'string') return null;
  if (!from.includes('\n') && !to.includes('\n')) return null;
  const changes = yield* lineChanges(from.split('\n'), to.split('\n'));
  return changes === null ? null : nearChanges(changes);
}

/** Fields that differ, in order. Yields between fields and within long ones. */
export function* differencesOf(from: Fields, to: Fields): Generator<void, readonly Difference[]> {
  const [before, after] = [flat(from), flat(to)];
  const differences: Difference[] = [];
  for (const field of new Set([...before.keys(), ...after.keys()])) {
    const [left = null, right = null] = [before.get(field), after.get(field)];
    if (JSON.stringify(left) === JSON.stringify(right)) continue;
    yield;
    differences.push({ field, from: left, to: right, lines: yield* linesBetween(left, right) });
  }
  return differences;
}
