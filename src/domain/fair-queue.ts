export interface FairQueue<Item> {
  /** Behind what this owner has waiting already. */
  push(owner: string, item: Item): void;
  /** The next one: owners take turns, each in its own order. */
  shift(): Item | undefined;
  /** What `shift` would give. */
  peek(): Item | undefined;
  /** Takes out the last of the owner that has most waiting; with it the queue is shortened when it is too long. */
  dropOfLongest(): Item | undefined;
  /** Takes out one item, for whom nobody waits any more. */
  remove(owner: string, item: Item): void;
  readonly size: number;
}

/**
 * A queue in which nobody waits for another owner's backlog: owners (organizations) are served in turn, one item each.
 * All but `dropOfLongest` and `remove` take the same time however much waits.
 */
export const createFairQueue = <Item>(): FairQueue<Item> => {
  /** In the order of their turns: who was served is put behind all others. None is empty. */
  const owners = new Map<string, Item[]>();
  let size = 0;

  const first = (): readonly [string, Item[]] | undefined => owners.entries().next().value;

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
    shift: () => {
      const next = first();
      if (next === undefined) return undefined;
      const [owner, items] = next;
      const item = takeAt(owner, items, 0);
      if (owners.delete(owner)) owners.set(owner, items);
      return item;
    },
    peek: () => first()?.[1][0],
    dropOfLongest: () => {
      let longest = first();
      for (const entry of owners) if (entry[1].length >= (longest?.[1].length ?? 0)) longest = entry;
      return longest === undefined ? undefined : takeAt(longest[0], longest[1], longest[1].length - 1);
    },
    remove: (owner, item) => {
      const items = owners.get(owner) ?? [];
      const index = items.indexOf(item);
      if (index >= 0) takeAt(owner, items, index);
    },
    get size() {
      return size;
    },
  };
};
