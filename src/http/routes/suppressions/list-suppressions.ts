import { z } from 'zod';
import { organizationSecret } from '../../../commands/organization/organization-secret.ts';
import { addressDigest } from '../../../commands/suppression/add-suppressions.ts';
import type { Caller } from '../../../domain/caller.ts';
import { SUPPRESSION_REASONS, SUPPRESSION_SCOPES } from '../../../domain/suppression/events.ts';
import { suppressionId } from '../../../domain/suppression/suppression.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { listOf, listShape } from '../../schemas/list.ts';
import { showSuppressions, suppressionShape } from '../../schemas/suppression.ts';
import { decodeCursor, encodeCursor } from '../../validation/cursor.ts';
import { pageParameters } from '../../validation/query.ts';
import { addressField } from './suppression-fields.ts';

const LIST = 'suppressions';
const query = z.strictObject({
  ...pageParameters,
  reason: z.enum(SUPPRESSION_REASONS).optional().describe('With an entry in force for this reason.'),
  scope: z.enum(SUPPRESSION_SCOPES).optional().describe('With an entry in force of this scope.'),
  address: addressField().optional().describe('Of this address alone.'),
});

const DESCRIPTION = `Those in force, the latest addition first. The list is the organization's in the key's environment, whichever
domain the key is bound to: what is suppressed is so for all of its domains.`;

export const listSuppressionsRoute = (route: RouteContext): void => {
  const { deps } = route;
  const { contents, secrets, system } = deps.context;

  const idOf = async ({ organizationId, environment }: Caller, address: string | undefined): Promise<string | null> =>
    address === undefined
      ? null
      : suppressionId(environment, addressDigest(await organizationSecret(secrets, organizationId), address));

  defineEndpoint(
    route,
    'GET /v1/suppressions',
    {
      summary: 'List suppressed addresses, newest first',
      description: DESCRIPTION,
      query,
      answer: listShape(suppressionShape),
    },
    async ({ caller, query: { limit, after: cursor, reason = null, scope = null, address } }) => {
      const { organizationId, environment } = caller;
      const after = decodeCursor(LIST, cursor);
      const id = await idOf(caller, address);
      await readYourWrites(deps, ['suppressions']);
      const now = system.now().toISOString();
      const { items, hasMore, next } = await deps.readModels.suppressions.list({
        ...{ organizationId, environment, now, reason, scope, suppressionId: id, limit, after },
      });
      return listOf(await showSuppressions(contents, items, now), hasMore, encodeCursor(LIST, next));
    },
  );
};
