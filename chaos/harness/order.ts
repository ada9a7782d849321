import { createHash } from 'node:crypto';

const rank = (seed: number, name: string): string => createHash('sha256').update(`${seed} ${name}`).digest('hex');

/** A whole number from 1 to `max`, the same for the same seed and name. */
export const chosenFor = (seed: number, name: string, max: number): number =>
  (Number.parseInt(rank(seed, name).slice(0, 8), 16) % max) + 1;

/** Lists as one, in which each is spread evenly: any beginning has something of every kind. */
export const interleaved = <Item>(lists: readonly (readonly Item[])[]): readonly Item[] =>
  lists
    .flatMap((list) => list.map((item, index) => ({ item, place: (index + 0.5) / list.length })))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);

/** The same order for the same seed, whatever else is in the list. */
export const shuffled = <Named extends { readonly name: string }>(
  items: readonly Named[],
  seed: number,
): readonly Named[] =>
  items
    .map((item) => ({ item, rank: rank(seed, item.name) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .map(({ item }) => item);
