import { createHash } from 'node:crypto';

const rank = (seed: number, name: string): string => createHash('sha256').update(`${seed} ${name}`).digest('hex');

/** A whole number from 1 to `max` that depends only on seed and name. */
export const chosenFor = (seed: number, name: string, max: number): number =>
  (Number.parseInt(rank(seed, name).slice(0, 8), 16) % max) + 1;

/** Merges lists evenly, so that every prefix contains items of all of them. */
export const interleaved = <Item>(lists: readonly (readonly Item[])[]): readonly Item[] =>
  lists
    .flatMap((list) => list.map((item, index) => ({ item, place: (index + 0.5) / list.length })))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);

/** Shuffles by seed and name, so that the order does not depend on other items. */
export const shuffled = <Named extends { readonly name: string }>(
  items: readonly Named[],
  seed: number,
): readonly Named[] =>
  items
    .map((item) => ({ item, rank: rank(seed, item.name) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .map(({ item }) => item);
