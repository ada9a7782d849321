import { endWarmUp } from '../../../commands/warm-up/end-warm-up.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { loadDomain } from './load-domain.ts';

export const endWarmUpRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'DELETE /v1/domains/:id/warm-up',
    {
      summary: 'End the warm-up of a domain before its time',
      description:
        'Its mail is held back no more; what waits already leaves from now on, within seconds, and a long list in its turn ' +
        'beside other mail. Where no plan runs, nothing changes.',
    },
    async ({ caller, origin, id }) => {
      await loadDomain(deps, caller, id);
      await endWarmUp(deps.context, origin, id);
    },
  );
};
