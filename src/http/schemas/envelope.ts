import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '../../domain/kernel/errors.ts';

/** ISO 8601 in UTC with milliseconds. */
export const timeSchema = () => z.iso.datetime({ precision: 3 });

const asOfSchema = z.strictObject({
  time: timeSchema().describe('Time of the last event at or before the requested moment.'),
  leaf_index: z.number().int().describe('Index of that event in the audit log.'),
});
/** The moment of the log at which a resource was read. */
export type AsOf = z.infer<typeof asOfSchema>;

/** Field added to responses that support `at`. */
export const asOfFields = () => ({
  as_of: asOfSchema.optional().describe('Moment that the response describes. Only in responses to requests with `at`.'),
});

/** A page of a list. */
export const listSchema = <Item extends z.ZodType>(item: Item) =>
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

/** An HTML page. */
export const pageSchema = z.string().meta({ id: 'Page' });

const codes = Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[]; // the keys of that very object

/** The body of every error (spec §2). */
export const errorSchema = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      code: z.enum(codes),
      details: z.record(z.string(), z.array(z.string())).optional(),
      retry_after: z.number().int().optional(),
    }),
  })
  .meta({ id: 'Error' });
