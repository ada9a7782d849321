import { z } from 'zod';
import { load } from '../../commands/execute.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { organization } from '../../domain/organization/organization.ts';
import { rateLimitsSchema } from '../../domain/rate-limits.ts';
import { organizationStream } from '../../domain/streams.ts';
import { setRevision } from '../consistency.ts';
import { defineEndpoint, type RouteContext } from '../endpoint.ts';
import { timeSchema } from '../schemas/envelope.ts';

const organizationSchema = z.strictObject({
  id: z.string(),
  object: z.literal('organization'),
  name: z.string(),
  rate_limit_ceilings: rateLimitsSchema.nullable(),
  created_at: timeSchema(),
});

export const getOrganizationRoute = (route: RouteContext): void => {
  const { store } = route.deps.context;
  defineEndpoint(
    route,
    'GET /v1/organization',
    { summary: "Read the key's organization", answer: organizationSchema },
    async ({ caller: { organizationId }, reply }) => {
      const { state, revision } = await load(store, organization, organizationStream(organizationId));
      if (state.status === 'absent') throw new DomainError('not_found', 'organization not found');
      setRevision(reply, revision);
      return {
        id: organizationId,
        object: 'organization',
        name: state.name,
        rate_limit_ceilings: state.ceilings,
        created_at: state.createdAt,
      };
    },
  );
};
