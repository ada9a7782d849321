/** How one content of a template differs from another, part by part and line by line. */

export interface LineChange {
  readonly kind: 'added' | 'removed' | 'same';
  readonly text: string;
}

export interface Difference {
  /** `html`, `locales.de.subject`, `variables`. */
  readonly field: string;
  /** null: the field is not in that version. */
  readonly from: unknown;
  readonly to: unknown;
  /** Of texts of several lines: the lines that changed, each with a few around it. */
  readonly lines: readonly LineChange[] | null;
}

/** A table of this many cells takes some 20 ms; larger texts are told as wholly replaced. */
const CELLS_MAX = 4_000_000;
/** Lines shown around a change. */
const AROUND = 3;

/** Longest common subsequence, after what both begin and end with. */
const lineChanges = (from: readonly string[], to: readonly string[]): readonly LineChange[] => {
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start += 1;
  let ending = 0;
  while (ending < Math.min(from.length, to.length) - start && from.at(-1 - ending) === to.at(-1 - ending)) ending += 1;
  const same = (texts: readonly string[]): readonly LineChange[] => texts.map((text) => ({ kind: 'same', text }));
  return [
    ...same(from.slice(0, start)),
    ...changesBetween(from.slice(start, from.length - ending), to.slice(start, to.length - ending)),
    ...same(from.slice(from.length - ending)),
  ];
};

const removed = (text: string): LineChange => ({ kind: 'removed', text });
const added = (text: string): LineChange => ({ kind: 'added', text });

const changesBetween = (from: readonly string[], to: readonly string[]): readonly LineChange[] => {
  if ((from.length + 1) * (to.length + 1) > CELLS_MAX) return [...from.map(removed), ...to.map(added)];
  const common = commonLengths(from, to);
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
};

/** Of what follows two places: how many lines both have in order. */
const commonLengths = (from: readonly string[], to: readonly string[]): ((left: number, right: number) => number) => {
  const width = to.length + 1;
  const cells = new Uint32Array((from.length + 1) * width);
  const at = (left: number, right: number): number => cells[left * width + right] ?? 0;
  for (let left = from.length - 1; left >= 0; left -= 1) {
    for (let right = to.length - 1; right >= 0; right -= 1) {
      cells[left * width + right] =
        from[left] === to[right] ? at(left + 1, right + 1) + 1 : Math.max(at(left + 1, right), at(left, right + 1));
    }
  }
  return at;
};

/** Without the lines that are far from every change. */
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

/** `locales.de.html`: locales field by field, everything else as it is. */
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

const linesBetween = (from: unknown, to: unknown): readonly LineChange[] | null => {
  if (typeof from !== 'string' || typeof to !== 'string') return null;
  if (!from.includes('\n') && !to.includes('\n')) return null;
  return nearChanges(lineChanges(from.split('\n'), to.split('\n')));
};

/** Fields that differ, in the order in which they stand. */
export const differencesOf = (from: Fields, to: Fields): readonly Difference[] => {
  const [before, after] = [flat(from), flat(to)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((field) => {
    const [left = null, right = null] = [before.get(field), after.get(field)];
    if (JSON.stringify(left) === JSON.stringify(right)) return [];
    return [{ field, from: left, to: right, lines: linesBetween(left, right) }];
  });
};
