import { z } from 'zod';

/** What a search finds. `messages` and `tag` are filters of the list of messages. */
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
    id: z.string().nullable().describe('null: a list, and no single resource.'),
    title: z.string().describe('A name, a subject, a type of event, or what a list holds.'),
    path: z.string().describe('Path in this API that reads it.'),
  })
  .meta({ id: 'SearchResult' });
export type SerializedFound = z.infer<typeof foundSchema>;
