import { defineEndpoint, type House } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { domainShape } from '../../schemas/domain.ts';
import { loadDomain } from './load-domain.ts';
import { presentDomain } from './present-domain.ts';

export const getDomainRoute = (house: House): void => {
  const { deps, door } = house;
  defineEndpoint(
    house,
    'GET /v1/domains/:id',
    { summary: 'Read a domain and the records to publish for it', answer: domainShape },
    async ({ caller, id, reply }) => {
      const { domain, revision } = await loadDomain(deps, caller, id);
      setRevision(reply, revision);
      await door.directory.catchUp();
      return presentDomain(house, domain);
    },
  );
};
