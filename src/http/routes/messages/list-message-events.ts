import { z } from 'zod';
import { customerEvents } from '../../../domain/customer-events.ts';
import { messageStream } from '../../../domain/message/message.ts';
import { presentEvents } from '../../../projections/events/present.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { eventShape } from '../../schemas/event.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { decodePlace, encodePlace } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { loadMessage } from './load-message.ts';
import { readStreamOf } from './read-stream-of.ts';

const listOfMessage = (id: string): string => `message-events/${id}`;
const query = z.strictObject(pageParameters);

export const listMessageEventsRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/messages/:id/events',
    { summary: 'What has happened to a message, newest first', query, answer: listShape(eventShape) },
    async ({ caller, id, query: { limit, after: cursor } }) => {
      const { after } = decodePlace(listOfMessage(id), cursor);
      const before = Number(after ?? Number.POSITIVE_INFINITY);
      await loadMessage(deps, caller, id);
      const all = (await readStreamOf(deps.context.store, messageStream(id)))
        .flatMap(customerEvents)
        .filter(({ sequence }) => sequence < before);
      const shown = all.toReversed().slice(0, limit);
      const last = shown.at(-1);
      const hasMore = all.length > shown.length;
      return listOf(
        await presentEvents(deps.context.contents, shown),
        hasMore,
        encodePlace(listOfMessage(id), hasMore && last !== undefined ? String(last.sequence) : null),
      );
    },
  );
};
