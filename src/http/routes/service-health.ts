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
        'For operators, who are members appointed with `npm run outbox -- members grant-operator`. It shows no data of any ' +
        'organization. It responds within two seconds: a part that does not answer is `unknown`.',
      answer: serviceSchema,
      etag: false,
    },
    () => health(),
  );
};
