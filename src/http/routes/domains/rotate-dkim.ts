import { rotateDkim } from '../../../commands/sending-domain/rotate-dkim.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { ifMatch, setRevision } from '../../revisions.ts';
import { domainShape } from '../../schemas/domain.ts';
import { loadDomain } from './load-domain.ts';
import { presentDomain } from './present-domain.ts';

export const rotateDkimRoute = (route: RouteContext): void => {
  const { deps, auth } = route;
  defineEndpoint(
    route,
    'POST /v1/domains/:id/dkim/rotate',
    {
      summary: 'Make new DKIM keys for a domain',
      description:
        'The new keys wait beside those that sign, and take over once the record of the RSA key is seen in the DNS: ' +
        'by itself, or by `verify`. Leave the records of the earlier keys where they are until `safe_to_remove_at`: ' +
        'mail under way is verified by them. Rotating again before that replaces the keys that wait.',
      answer: domainShape,
    },
    async ({ caller, origin, id, request, reply }) => {
      await loadDomain(deps, caller, id);
      const { domain, revision } = await rotateDkim(deps.context, origin, { domainId: id, ...ifMatch(request) });
      setRevision(reply, revision);
      await auth.keyCache.catchUp();
      return presentDomain(route, domain);
    },
  );
};
