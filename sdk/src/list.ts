/** A list: await it for one page, iterate over it for all items. */

interface PageOf {
  readonly has_more?: boolean;
  readonly next_cursor?: string | null;
}

export interface List<Item, Page> extends PromiseLike<Page>, AsyncIterable<Item> {
  /** Every page from the first asked for. */
  pages(): AsyncIterableIterator<Page>;
}

/** Cursor of the page behind; undefined: it is the last. */
const nextOf = ({ has_more, next_cursor }: PageOf): string | undefined =>
  has_more === true ? (next_cursor ?? undefined) : undefined;

/** @param read reads a page; called when it is needed. */
export const listOf = <Item, Page extends object>(
  read: (query: { readonly after?: string }) => Promise<Page>,
): List<Item, Page> => {
  async function* pages(): AsyncGenerator<Page> {
    let page = await read({});
    yield page;
    for (let next = nextOf(page); next !== undefined; next = nextOf(page)) {
      page = await read({ after: next });
      yield page;
    }
  }
  async function* items(): AsyncGenerator<Item> {
    for await (const page of pages()) yield* (page as { readonly data?: readonly Item[] }).data ?? [];
  }
  return {
    pages,
    [Symbol.asyncIterator]: items,
    // biome-ignore lint/suspicious/noThenProperty: awaiting a list reads one page of it.
    then: (done, failed) => read({}).then(done, failed),
  };
};
