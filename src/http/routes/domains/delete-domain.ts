import { deleteDomain } from '../../../commands/sending-domain/delete-domain.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { ifMatch } from '../../revisions.ts';
import { loadDomain } from './load-domain.ts';

export const deleteDomainRoute = (route: RouteContext): void => {
  const { deps, auth } = route;
  defineEndpoint(
    route,
    'DELETE /v1/domains/:id',
    {
      summary: 'Delete a domain; the keys bound to it end with it',
      description:
        'Messages from it that wait, for their time or for another attempt, stay as they are and fail when they fall due: ' +
        'cancel them first to have them end at once.',
    },
    async ({ caller, origin, id, request }) => {
      await loadDomain(deps, caller, id);
      const { load: loadKeyCache } = auth.keyCache;
      await deleteDomain(deps.context, origin, { by: caller, domainId: id, loadKeyCache, ...ifMatch(request) });
      await auth.keyCache.catchUp();
    },
  );
};
