import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { domainShape } from '../../schemas/domain.ts';
import { loadDomain } from './load-domain.ts';
import { presentDomain } from './present-domain.ts';

export const getDomainRoute = (route: RouteContext): void => {
  const { deps, auth } = route;
  defineEndpoint(
    route,
    'GET /v1/domains/:id',
    { summary: 'Read a domain and the records to publish for it', answer: domainShape },
    async ({ caller, id, reply }) => {
      const { domain, revision } = await loadDomain(deps, caller, id);
      setRevision(reply, revision);
      await auth.keyCache.catchUp();
      return presentDomain(route, domain);
    },
  );
};
