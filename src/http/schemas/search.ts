import { z } from 'zod';

/** Types of search results. `messages` and `tag` are filters of the list of messages. */
export const FOUND_TYPES = [
  'message',
  'messages',
  'event',
  'request',
  'api_key',
  'domain',
  'template',
  'webhook',
  'webhook_delivery',
  'topic',
  'suppression',
  'erasure',
  'member',
  'tag',
] as const;

export const foundSchema = z
  .strictObject({
    type: z.enum(FOUND_TYPES),
    id: z.string().nullable().describe('null: the result is a list.'),
    title: z.string().describe('A name, a subject, an event type or a description of the list.'),
    path: z.string().describe('Path in this API that reads it.'),
  })
  .meta({ id: 'SearchResult' });
export type SerializedSearchResult = z.infer<typeof foundSchema>;
