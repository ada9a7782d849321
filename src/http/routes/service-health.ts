import { defineEndpoint, type RouteContext } from '../endpoint.ts';
import { serviceSchema } from '../schemas/service.ts';
import { createServiceHealth } from '../service-health.ts';

export const getServiceRoute = (route: RouteContext): void => {
  const { deps } = route;
  const health = createServiceHealth(deps.health, deps.context.system);
  defineEndpoint(
    route,
    'GET /v1/service',
    {
      summary: 'Read the health of the service',
      description:
        'For operators: members whom `npm run outbox -- members grant-operator` made so. It shows no data of any ' +
        'organization. The answer takes two seconds at most: a part that does not answer is `unknown`.',
      answer: serviceSchema,
      etag: false,
    },
    () => health(),
  );
};
