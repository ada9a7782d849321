import { z } from 'zod';

/** One page, newest first. */
export const listShape = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  });

export interface List<Item> {
  readonly object: 'list';
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export const listOf = <Item>(data: readonly Item[], hasMore: boolean, cursor: string | null): List<Item> => ({
  object: 'list',
  data,
  has_more: hasMore,
  next_cursor: cursor,
});
