import { verifyDomain } from '../../../commands/sending-domain/verify-domain.ts';
import { defineEndpoint, type House } from '../../endpoint.ts';
import { ifMatch, setRevision } from '../../revisions.ts';
import { domainShape, showDomain } from '../../shapes/domain-shape.ts';
import { loadDomain } from './load-domain.ts';

export const verifyDomainRoute = (house: House): void => {
  const { deps, door } = house;
  defineEndpoint(
    house,
    'POST /v1/domains/:id/verify',
    { summary: 'Look for the proof of a domain now', answer: domainShape },
    async ({ caller, origin, id, request, reply }) => {
      await loadDomain(deps, caller, id);
      const { domain, revision } = await verifyDomain(deps.context, origin, { domainId: id, ...ifMatch(request) });
      setRevision(reply, revision);
      await door.directory.catchUp();
      return showDomain(domain, door.directory.domainFactsOf(id));
    },
  );
};
