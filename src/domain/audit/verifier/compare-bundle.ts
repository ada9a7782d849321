import { HASH_BYTES } from '../../../lib/transparency/transparency.ts';

/** Compares the leaves of a bundle with the hashes that the export claims for them. */

/** `doubt`: not wrong, but not proved right either. `difference`: the leaves and the hashes after them disagree. */
export type Finding =
  | { readonly kind: 'fault' | 'doubt'; readonly sentence: string }
  | {
      readonly kind: 'difference';
      readonly sentence: string;
      /** The first leaf of the bundle. */
      readonly leaf: number;
    };

/** A leaf found in the export. */
interface FoundLeaf {
  /** A description of the event, or a note that the leaf is not an event. */
  readonly words: string;
}

interface Bundle {
  /** Number of the first leaf. */
  readonly start: number;
  readonly leaves: readonly FoundLeaf[];
  /** Concatenated hashes of the leaves in the export. */
  readonly found: Buffer;
  /** Concatenated hashes on the line after the leaves. */
  readonly claimed: Buffer;
}

/** Hashes as text, and the index of each hash in its list. */
interface Sides {
  readonly found: readonly string[];
  readonly claimed: readonly string[];
  readonly foundAt: ReadonlyMap<string, number>;
  readonly claimedAt: ReadonlyMap<string, number>;
}

const listOf = (hashes: Buffer): readonly string[] =>
  Array.from({ length: hashes.length / HASH_BYTES }, (_, at) =>
    hashes.toString('latin1', at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );

/** Keeps the last index of each hash. If a leaf is repeated, its first occurrence is the right one. */
const placesOf = (hashes: readonly string[]): ReadonlyMap<string, number> =>
  new Map(hashes.map((hash, at) => [hash, at]));

/** One step through both lists: the sentence to report, and how far to advance in each list. */
interface Step {
  readonly sentence: string | null;
  readonly found: 0 | 1;
  readonly claimed: 0 | 1;
}

const isRepeated = (sides: Sides, hash: string): boolean => sides.found.indexOf(hash) !== sides.foundAt.get(hash);

/** Handles two leaves that are in both lists but in a different order. */
const stepOutOfOrder = ({ start, leaves }: Bundle, sides: Sides, i: number, j: number): Step => {
  const [hash, wanted] = [sides.found[i] as string, sides.claimed[j] as string];
  const place = sides.claimedAt.get(hash) as number;
  const ahead = (sides.foundAt.get(wanted) as number) - i;
  if (ahead < 0) return { sentence: null, found: 0, claimed: 1 };
  if (place > j && place - j <= ahead) return { sentence: null, found: 0, claimed: 1 };
  const words = leaves[i]?.words;
  const sentence = isRepeated(sides, hash)
    ? `leaf ${start + place}, ${words}, stands there a second time`
    : `leaf ${start + place}, ${words}, does not stand in its place`;
  return { sentence, found: 1, claimed: 0 };
};

const missing = ({ start, leaves }: Bundle, i: number, j: number): string => {
  const before = i > 0 ? ` behind ${leaves[i - 1]?.words}` : '';
  const after = leaves[i] === undefined ? '' : ` before ${leaves[i].words}`;
  const between = before !== '' && after !== '' ? ` between ${leaves[i - 1]?.words} and ${leaves[i]?.words}` : '';
  return `leaf ${start + j} is missing${between || before || after}`;
};

/** Handles the rest of one list after the other has ended. */
const stepAtEnd = ({ start, leaves }: Bundle, sides: Sides, i: number): Step => {
  const hash = sides.found[i];
  if (hash === undefined) return { sentence: null, found: 0, claimed: 1 };
  const leaf = `leaf ${start + (sides.claimedAt.get(hash) as number)}, ${leaves[i]?.words},`;
  const sentence = isRepeated(sides, hash)
    ? `${leaf} stands there a second time`
    : `${leaf} does not stand in its place`;
  return { sentence, found: 1, claimed: 0 };
};

const lacks = (places: ReadonlyMap<string, number>, hash: string | undefined): boolean =>
  hash !== undefined && !places.has(hash);

const stepOf = (bundle: Bundle, sides: Sides, i: number, j: number): Step => {
  const [hash, wanted] = [sides.found[i], sides.claimed[j]];
  if (hash === wanted) return { sentence: null, found: 1, claimed: 1 };
  const isForeign = lacks(sides.claimedAt, hash);
  const isGone = lacks(sides.foundAt, wanted);
  const words = bundle.leaves[i]?.words;
  const leaf = `leaf ${bundle.start + j}`;
  if (isForeign && isGone) return { sentence: `${leaf} was altered: now it says ${words}`, found: 1, claimed: 1 };
  if (isGone) return { sentence: missing(bundle, i, j), found: 0, claimed: 1 };
  if (isForeign) return { sentence: `${words} was inserted before ${leaf}`, found: 1, claimed: 0 };
  return hash === undefined || wanted === undefined ? stepAtEnd(bundle, sides, i) : stepOutOfOrder(bundle, sides, i, j);
};

/** Reports each difference, in leaf order. */
export const differences = (bundle: Bundle): readonly Finding[] => {
  const [found, claimed] = [listOf(bundle.found), listOf(bundle.claimed)];
  const sides: Sides = { found, claimed, foundAt: placesOf(found), claimedAt: placesOf(claimed) };
  const findings: Finding[] = [];
  for (let i = 0, j = 0; i < found.length || j < claimed.length; ) {
    const { sentence, ...step } = stepOf(bundle, sides, i, j);
    if (sentence !== null) findings.push({ kind: 'difference', sentence, leaf: bundle.start });
    i += step.found;
    j += step.claimed;
  }
  return findings;
};
