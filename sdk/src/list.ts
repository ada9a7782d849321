import { OutboxError } from './errors.ts';

/** A list: await it for one page, iterate over it for all items. */

interface PageOf {
  readonly has_more?: boolean;
  readonly next_cursor?: string | null;
}

/** Requests the page once when it is awaited, and all pages each time it is iterated over. */
export interface List<Item, Page> extends Promise<Page>, AsyncIterable<Item> {
  /** Every page, starting with the requested one. */
  pages(): AsyncIterableIterator<Page>;
}

/** Cursor of the next page; undefined: this is the last one. */
const nextOf = ({ has_more, next_cursor }: PageOf): string | undefined =>
  has_more === true ? (next_cursor ?? undefined) : undefined;

/** @param read reads a page when it is needed. */
export const listOf = <Item, Page extends object>(
  read: (query: { readonly after?: string }) => Promise<Page>,
): List<Item, Page> => {
  let first: Promise<Page> | undefined;
  const firstPage = (): Promise<Page> => {
    first ??= read({});
    return first;
  };
  async function* pages(): AsyncGenerator<Page> {
    let page = await read({});
    yield page;
    let before: string | undefined;
    for (let next = nextOf(page); next !== undefined; next = nextOf(page)) {
      if (next === before) throw new OutboxError('the list repeats itself: two pages have the same next_cursor');
      before = next;
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
    [Symbol.toStringTag]: 'List',
    // biome-ignore lint/suspicious/noThenProperty: awaiting a list reads one page of it.
    then: (done, failed) => firstPage().then(done, failed),
    catch: (failed) => firstPage().catch(failed),
    finally: (done) => firstPage().finally(done),
  };
};
