import { z } from 'zod';
import { customerEvents } from '../../../domain/customer-events.ts';
import { READ_STREAM_LIMIT, type RecordedEvent } from '../../../domain/event-store.ts';
import { messageStream } from '../../../domain/message/message.ts';
import { contentIdsOf, showEvent } from '../../../domain/shown-event.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { eventShape } from '../../shapes/event-shape.ts';
import { listOf, listShape } from '../../shapes/list-shape.ts';
import { decodeParts, encodeParts, invalidCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { loadMessage } from './load-message.ts';

const LIST = 'message-events';
const query = z.strictObject(pageParameters);

/** Sequence number before which the page ends. */
const decode = (after: string | undefined): number => {
  if (after === undefined) return Number.POSITIVE_INFINITY;
  const [list, sequence = ''] = decodeParts(after, 2);
  if (list !== LIST || !/^\d{1,9}$/.test(sequence)) throw invalidCursor();
  return Number(sequence);
};

const readAll = async ({ context }: HttpDependencies, id: string): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for (;;) {
    const page = await context.store.readStream(messageStream(id), { from: events.length });
    events.push(...page);
    if (page.length < READ_STREAM_LIMIT) return events;
  }
};

export const listMessageEventsRoute = (house: House): void => {
  const { deps } = house;
  defineEndpoint(
    house,
    'GET /v1/messages/:id/events',
    { summary: 'What has happened to a message, newest first', query, answer: listShape(eventShape) },
    async ({ caller, id, query: { limit, after } }) => {
      const before = decode(after);
      await loadMessage(deps, caller, id);
      const all = (await readAll(deps, id)).flatMap(customerEvents).filter(({ sequence }) => sequence < before);
      const shown = all.toReversed().slice(0, limit);
      const contents = await deps.context.contents.get(contentIdsOf(shown));
      const last = shown.at(-1);
      const hasMore = all.length > shown.length;
      return listOf(
        shown.map((event) => showEvent(event, contents)),
        hasMore,
        hasMore && last !== undefined ? encodeParts([LIST, String(last.sequence)]) : null,
      );
    },
  );
};
