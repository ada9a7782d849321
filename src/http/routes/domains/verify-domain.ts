import { verifyDomain } from '../../../commands/sending-domain/verify-domain.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { ifMatch, setRevision } from '../../revisions.ts';
import { domainShape } from '../../schemas/domain.ts';
import { loadDomain } from './load-domain.ts';
import { presentDomain } from './present-domain.ts';

export const verifyDomainRoute = (route: RouteContext): void => {
  const { deps, auth } = route;
  defineEndpoint(
    route,
    'POST /v1/domains/:id/verify',
    {
      summary: 'Look for the records of a domain now',
      description:
        'Asks the DNS past whatever is remembered, and says of each record what was found and what is wrong with it. ' +
        'A domain is verified once the `required` ones are valid; a DNS that does not answer changes nothing.',
      answer: domainShape,
    },
    async ({ caller, origin, id, request, reply }) => {
      await loadDomain(deps, caller, id);
      const { domain, revision } = await verifyDomain(deps.context, origin, { domainId: id, ...ifMatch(request) });
      setRevision(reply, revision);
      await auth.keyCache.catchUp();
      return presentDomain(route, domain);
    },
  );
};
