import { z } from 'zod';
import { startWarmUp } from '../../../commands/warm-up/start-warm-up.ts';
import { CAP_MAX, DEFAULT_PLAN, PLAN_DAYS_MAX } from '../../../domain/warm-up/start-warm-up.ts';
import { defineEndpoint, type RouteContext } from '../../endpoint.ts';
import { warmUpShape } from '../../schemas/warm-up.ts';
import { atMost } from '../../validation/at-most.ts';
import { loadDomain } from './load-domain.ts';
import { presentWarmUp } from './present-warm-up.ts';

const body = z.strictObject({
  plan: atMost(PLAN_DAYS_MAX, z.array(z.int().min(1).max(CAP_MAX)).min(1).max(PLAN_DAYS_MAX))
    .default([...DEFAULT_PLAN])
    .describe('Recipients that each destination gets on the first day, the second, and so on.'),
});

export const startWarmUpRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'PUT /v1/domains/:id/warm-up',
    {
      summary: 'Have receivers get to know a domain: less mail a day at first, and more from day to day',
      description:
        'Begins today, in place of another plan; the same plan, where it runs already, goes on as it is. A destination is ' +
        'whoever runs the mail servers of recipients’ domains; where one server takes all mail (`MAIL_URL=smtp://…`), each ' +
        'recipient’s domain is one. All live mail of the domain is counted; bulk mail above the day’s share waits for a ' +
        'later day, and its `ttl_seconds` do not run meanwhile unless they are fewer than the default. Transactional ' +
        'mail never waits. Days are UTC.',
      body,
      examples: { 'The default plan': {}, 'A plan of five days': { plan: [50, 200, 1000, 5000, 20_000] } },
      answer: warmUpShape,
    },
    async ({ caller, origin, id, body: { plan } }) => {
      await loadDomain(deps, caller, id);
      return presentWarmUp(deps, id, await startWarmUp(deps.context, origin, { domainId: id, caps: plan }));
    },
  );
};
