import { load } from '../../../commands/execute.ts';
import { countedFrom, NOTHING_SENT } from '../../../domain/reputation/sending-counts.ts';
import { standing, standingStream } from '../../../domain/reputation/standing.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { readYourWrites } from '../../read-your-writes.ts';
import { organizationStandingShape, showOrganizationStanding } from '../../schemas/standing.ts';

export const getOrganizationStandingRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/organization/standing',
    {
      summary: 'See how much of the bulk mail of all domains together bounces or is complained about, and what follows',
      description:
        'By the same rules as the standing of a domain; what follows concerns all of them. An organization is judged once ' +
        'more than one of its domains has sent bulk mail.',
      answer: organizationStandingShape,
    },
    async ({ caller: { organizationId } }) => {
      const { store, system } = deps.context;
      const { state } = await load(store, standing, standingStream(organizationId));
      await readYourWrites(deps, ['standings']);
      const by = { from: countedFrom(system.now()), senderId: organizationId };
      const counts = await deps.readModels.standings.ofSender(by);
      return showOrganizationStanding(organizationId, state, counts ?? NOTHING_SENT);
    },
  );
};
