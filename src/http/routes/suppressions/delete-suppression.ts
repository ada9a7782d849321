import { removeSuppression } from '../../../commands/suppression/remove-suppression.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { ifMatch } from '../../revisions.ts';
import { loadSuppression } from './load-suppression.ts';

const DESCRIPTION = `It can be sent to again from now on, until something new happens. What spoke against it stays on record; adding the
address puts it back.`;

export const deleteSuppressionRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'DELETE /v1/suppressions/:id',
    { summary: 'Take an address off the list', description: DESCRIPTION },
    async ({ caller, origin, id, request }) => {
      await loadSuppression(deps, caller, id);
      const command = { suppressionId: id, environment: caller.environment, ...ifMatch(request) };
      await removeSuppression(deps.context, origin, command);
    },
  );
};
