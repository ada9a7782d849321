import { z } from 'zod';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { apiKeyShape } from '../../schemas/api-key.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { decodeCursor, encodeCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { showKeys } from './show-key.ts';

const LIST = 'api-keys';
const query = z.strictObject(pageParameters);

export const listKeysRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/api-keys',
    { summary: 'List API keys, newest first', query, answer: listShape(apiKeyShape) },
    async ({ caller, query: { limit, after: cursor } }) => {
      const after = decodeCursor(LIST, cursor);
      await readYourWrites(deps, ['api-keys']);
      const { items, hasMore, next } = await deps.readModels.apiKeys.list({
        organizationId: caller.organizationId,
        environment: caller.environment === 'test' ? 'test' : null,
        limit,
        after,
      });
      return listOf(await showKeys(route, items), hasMore, encodeCursor(LIST, next));
    },
  );
};
