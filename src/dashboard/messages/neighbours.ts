import type { List } from '../../http/fields.ts';
import type { SerializedListedMessage } from '../../http/resources/messages/message.ts';
import { request } from '../data/api.ts';

/** Finds the messages before and after one that was not opened from a list. */

export type MessagePlace = Pick<SerializedListedMessage, 'id' | 'created_at'>;

const PAGE = 100;
/**
 * Lists are newest first, so the next message is the last of a page. The shortest window with a message is used: it holds
 * fewer than a page, unless more than 100 messages were accepted within a second.
 */
const WINDOWS_MS = [1_000, 60_000, 86_400_000, null] as const;

const list = async (query: Readonly<Record<string, string | number | null>>): Promise<readonly MessagePlace[]> =>
  (await request<List<MessagePlace>>('/v1/messages', { query })).data;

const olderThan = async ({ id, created_at: until }: MessagePlace): Promise<string | null> =>
  (await list({ until, limit: 2 })).find((one) => one.id !== id)?.id ?? null;

const newerThan = async ({ id, created_at: since }: MessagePlace): Promise<string | null> => {
  for (const windowMs of WINDOWS_MS) {
    const until = windowMs === null ? null : new Date(Date.parse(since) + windowMs).toISOString();
    const found = (await list({ since, until, limit: PAGE })).findLast((one) => one.id !== id);
    if (found !== undefined) return found.id;
  }
  return null;
};

/** Id of the next older or newer message of the environment; null: none. */
export const neighbourOf = (message: MessagePlace, to: 'older' | 'newer'): Promise<string | null> =>
  to === 'older' ? olderThan(message) : newerThan(message);
