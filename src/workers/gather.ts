interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Items that share writes: while one write runs, the next gathers. Each caller is told when its item is written, or why
 * it was not.
 * @param itemsMax of one write.
 */
export const createGather = <Item>(
  write: (items: readonly Item[]) => Promise<void>,
  itemsMax: number,
): ((item: Item) => Promise<void>) => {
  const waiting: Waiting<Item>[] = [];
  let writing = false;

  const writeGroup = async (group: readonly Waiting<Item>[]): Promise<void> => {
    try {
      await write(group.map(({ item }) => item));
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };

  const drain = async (): Promise<void> => {
    while (waiting.length > 0) await writeGroup(waiting.splice(0, itemsMax));
    writing = false;
  };

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ item, resolve, reject });
    if (!writing) {
      writing = true;
      // A turn later, so that callers of the same moment travel together from the first write on.
      queueMicrotask(() => void drain());
    }
    return promise;
  };
};
