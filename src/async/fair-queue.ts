export interface FairQueue<Item> {
  /** Behind what this owner has waiting already. */
  push(owner: string, item: Item): void;
  /** The next one: owners take turns, each in its own order. Owners whose next one cannot go are passed over. */
  shift(canGo?: (item: Item) => boolean): Item | undefined;
  /** What `shift` would give. */
  peek(canGo?: (item: Item) => boolean): Item | undefined;
  /** Takes out the last of the owner that has most waiting; with it the queue is shortened when it is too long. */
  dropOfLongest(): Item | undefined;
  /** Takes out one item, for whom nobody waits any more. */
  remove(owner: string, item: Item): void;
  readonly size: number;
}

const ANY = (_item: unknown): boolean => true;

/**
 * A queue in which nobody waits for another owner's backlog: owners (organizations) are served in turn, one item each.
 * All but `dropOfLongest`, `remove` and passing over take the same time however much waits.
 */
export const createFairQueue = <Item>(): FairQueue<Item> => {
  /** In the order of their turns: who was served is put behind all others. None is empty. */
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
