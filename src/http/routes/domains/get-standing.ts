import { load } from '../../../commands/execute.ts';
import { countedFrom, NOTHING_SENT } from '../../../domain/reputation/sending-counts.ts';
import { standing, standingStream } from '../../../domain/reputation/standing.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { domainStandingShape, showDomainStanding } from '../../schemas/standing.ts';
import { loadDomain } from './load-domain.ts';

export const getStandingRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/domains/:id/standing',
    {
      summary: 'See how much of a domain’s bulk mail bounces or is complained about, and what follows',
      description:
        'Live bulk mail of the last seven days, by the day (UTC) its outcome became known. Less than 200 recipients or ' +
        'five bounces or complaints are not judged. A level lasts until the rate is a fifth below what led to it.',
      answer: domainStandingShape,
    },
    async ({ caller, id }) => {
      await loadDomain(deps, caller, id);
      const { store } = deps.context;
      const [{ state: own }, { state: ofOrganization }] = await Promise.all([
        load(store, standing, standingStream(id)),
        load(store, standing, standingStream(caller.organizationId)),
      ]);
      await readYourWrites(deps, ['standings']);
      const from = countedFrom(deps.context.system.now());
      const counts = await deps.readModels.standings.ofSender({ from, senderId: id });
      return showDomainStanding(id, { own, ofOrganization }, counts ?? NOTHING_SENT);
    },
  );
};
