import { load } from '../../../commands/execute.ts';
import { warmUp, warmUpStream } from '../../../domain/warm-up/warm-up.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { warmUpShape } from '../../schemas/warm-up.ts';
import { loadDomain } from './load-domain.ts';
import { presentWarmUp } from './present-warm-up.ts';

export const getWarmUpRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/domains/:id/warm-up',
    {
      summary: 'See how far the warm-up of a domain is, and what its destinations got today',
      answer: warmUpShape,
    },
    async ({ caller, id }) => {
      await loadDomain(deps, caller, id);
      const { state } = await load(deps.context.store, warmUp, warmUpStream(id));
      return presentWarmUp(deps, id, state);
    },
  );
};
