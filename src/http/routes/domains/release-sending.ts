import { z } from 'zod';
import { releaseSending } from '../../../commands/reputation/release-sending.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { loadDomain } from './load-domain.ts';

const releasedShape = z.strictObject({
  object: z.literal('released_domain'),
  domain_id: z.string(),
  released: z.boolean().describe('false: nothing was held against it, and nothing has changed.'),
});

export const releaseSendingRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'POST /v1/domains/:id/release',
    {
      summary: 'Let the bulk mail of a domain go on that was slowed down or paused',
      description:
        'Bounces and complaints are counted anew from now on, those about earlier mail too. What waits already leaves ' +
        'from now on, within seconds, and a long list in its turn beside other mail; ' +
        'what all domains of the organization together keep back has a release of its own.',
      answer: releasedShape,
    },
    async ({ caller, origin, id }) => {
      await loadDomain(deps, caller, id);
      const released = await releaseSending(deps.context, origin, id);
      return { object: 'released_domain', domain_id: id, released };
    },
  );
};
