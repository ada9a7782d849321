import { z } from 'zod';
import { releaseSending } from '../../../commands/reputation/release-sending.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';

const releasedShape = z.strictObject({
  object: z.literal('released_organization'),
  organization_id: z.string(),
  released: z.boolean().describe('false: nothing was held against it, and nothing has changed.'),
});

export const releaseOrganizationSendingRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'POST /v1/organization/release',
    {
      summary: 'Let bulk mail go on that was slowed down or paused for the rates of all domains together',
      description:
        'Bounces and complaints of all of them together are counted anew from now on. A domain that is slowed down or ' +
        'paused for its own rates stays so: it has a release of its own.',
      answer: releasedShape,
    },
    async ({ caller: { organizationId }, origin }) => {
      const released = await releaseSending(deps.context, origin, null);
      return { object: 'released_organization', organization_id: organizationId, released };
    },
  );
};
