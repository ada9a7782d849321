import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { setRevision } from '../../revisions.ts';
import { showSuppression, suppressionShape } from '../../schemas/suppression.ts';
import { loadSuppression } from './load-suppression.ts';

const DESCRIPTION = 'One that was taken off the list is shown too, with all that spoke for it.';

export const getSuppressionRoute = (route: RouteContext): void => {
  const { contents, system } = route.deps.context;
  defineEndpoint(
    route,
    'GET /v1/suppressions/:id',
    { summary: 'Read what is on record against an address', description: DESCRIPTION, answer: suppressionShape },
    async ({ caller, id, reply }) => {
      const { suppression, revision } = await loadSuppression(route.deps, caller, id);
      setRevision(reply, revision);
      return showSuppression(contents, suppression, system.now().toISOString());
    },
  );
};
