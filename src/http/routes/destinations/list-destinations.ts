import { z } from 'zod';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { DESTINATION, showSuspension, suspensionShape } from '../../schemas/destination.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { decodeCursor, encodeCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';

const LIST = 'destinations';
const query = z.strictObject(pageParameters);

export const listDestinationsRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/destinations',
    {
      summary: 'List destinations that get no mail for now, the latest first',
      description:
        'Mail servers that do not answer, or ask for less, are left alone for a minute, and longer each time, up to half an ' +
        'hour. Their messages wait, and expire at the end of their time to live; those of other destinations go on. A domain ' +
        'that waits by itself, for what its own DNS or policy says, is not listed: `GET /v1/messages/{id}/explain` tells of it.',
      query,
      answer: listShape(suspensionShape),
    },
    async ({ query: { limit, after: cursor } }) => {
      const after = decodeCursor(LIST, cursor, DESTINATION);
      await readYourWrites(deps, ['destinations']);
      const now = deps.context.system.now().toISOString();
      const page = await deps.readModels.destinations.suspended({ now, limit, after });
      return listOf(page.items.map(showSuspension), page.hasMore, encodeCursor(LIST, page.next));
    },
  );
};
