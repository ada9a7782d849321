import { z } from 'zod';
import { visibleDomainId } from '../../auth/authenticate.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { domainShape } from '../../schemas/domain.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { decodeCursor, encodeCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { presentDomain } from './present-domain.ts';

const LIST = 'domains';
const query = z.strictObject(pageParameters);

export const listDomainsRoute = (route: RouteContext): void => {
  const { deps, auth } = route;
  defineEndpoint(
    route,
    'GET /v1/domains',
    { summary: 'List sending domains, newest first', query, answer: listShape(domainShape) },
    async ({ caller, query: { limit, after: cursor } }) => {
      const after = decodeCursor(LIST, cursor);
      await Promise.all([readYourWrites(deps, ['domains']), auth.keyCache.catchUp()]);
      const { items, hasMore, next } = await deps.readModels.domains.list({
        organizationId: caller.organizationId,
        domainId: visibleDomainId(caller),
        limit,
        after,
      });
      return listOf(
        items.map((domain) => presentDomain(route, domain)),
        hasMore,
        encodeCursor(LIST, next),
      );
    },
  );
};
