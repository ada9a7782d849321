import { z } from 'zod';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { domainShape } from '../../schemas/domain.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { decodeCursor, encodeCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { ownDomainOnly } from '../../visibility.ts';
import { presentDomain } from './present-domain.ts';

const LIST = 'domains';
const query = z.strictObject(pageParameters);

export const listDomainsRoute = (house: House): void => {
  const { deps, door } = house;
  defineEndpoint(
    house,
    'GET /v1/domains',
    { summary: 'List sending domains, newest first', query, answer: listShape(domainShape) },
    async ({ caller, query: { limit, after: cursor } }) => {
      const after = decodeCursor(LIST, cursor);
      await Promise.all([readYourWrites(deps, ['domains']), door.directory.catchUp()]);
      const { items, hasMore, next } = await deps.readModels.domains.list({
        organizationId: caller.organizationId,
        domainId: ownDomainOnly(caller),
        limit,
        after,
      });
      return listOf(
        items.map((domain) => presentDomain(house, domain)),
        hasMore,
        encodeCursor(LIST, next),
      );
    },
  );
};
