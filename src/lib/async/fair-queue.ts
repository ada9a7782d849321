export interface FairQueue<Item> {
  /** Adds an item at the end of its owner's line. */
  push(owner: string, item: Item): void;
  /** Removes the next item: owners take turns. An owner whose first item cannot go is skipped. */
  shift(canGo?: (item: Item) => boolean): Item | undefined;
  /** The item that `shift` would remove. */
  peek(canGo?: (item: Item) => boolean): Item | undefined;
  /** Removes the last item of the owner with the longest line, to shorten a queue that is too long. */
  dropOfLongest(): Item | undefined;
  /** Owners with items. */
  owners(): Iterable<string>;
  /** Items of the owner. */
  sizeOf(owner: string): number;
  /** All items, owner by owner. */
  items(): Iterable<Item>;
  /** Removes an item that is no longer wanted. @returns false if it was not in the queue. */
  remove(owner: string, item: Item): boolean;
  readonly size: number;
}

const ANY = (_item: unknown): boolean => true;

/**
 * A queue in which no owner (organization) waits for another's backlog: owners take turns, one item each. All
 * operations take constant time except `dropOfLongest`, `remove` and skipping.
 */
export const createFairQueue = <Item>(): FairQueue<Item> => {
  /** Owners in the order of their turns; a served owner moves to the end. No list is empty. */
  const owners = new Map<string, Item[]>();
  let size = 0;

  const first = (canGo: (item: Item) => boolean = ANY): readonly [string, Item[]] | undefined => {
    for (const entry of owners) if (canGo(entry[1][0] as Item)) return entry;
    return undefined;
  };

  const takeAt = (owner: string, items: Item[], index: number): Item | undefined => {
    const [item] = items.splice(index, 1);
    size -= 1;
    if (items.length === 0) owners.delete(owner);
    return item;
  };

  return {
    push: (owner, item) => {
      const items = owners.get(owner);
      if (items === undefined) owners.set(owner, [item]);
      else items.push(item);
      size += 1;
    },
    shift: (canGo) => {
      const next = first(canGo);
      if (next === undefined) return undefined;
      const [owner, items] = next;
      const item = takeAt(owner, items, 0);
      if (owners.delete(owner)) owners.set(owner, items);
      return item;
    },
    peek: (canGo) => first(canGo)?.[1][0],
    dropOfLongest: () => {
      let longest = first();
      for (const entry of owners) if (entry[1].length >= (longest?.[1].length ?? 0)) longest = entry;
      return longest === undefined ? undefined : takeAt(longest[0], longest[1], longest[1].length - 1);
    },
    owners: () => owners.keys(),
    sizeOf: (owner) => owners.get(owner)?.length ?? 0,
    *items() {
      for (const items of owners.values()) yield* items;
    },
    remove: (owner, item) => {
      const items = owners.get(owner) ?? [];
      const index = items.indexOf(item);
      if (index >= 0) takeAt(owner, items, index);
      return index >= 0;
    },
    get size() {
      return size;
    },
  };
};
