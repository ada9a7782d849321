import { z } from 'zod';
import { load } from '../../commands/execute.ts';
import { endWarmUp, startWarmUp } from '../../commands/warm-up.ts';
import { dailyQuotaStream, warmUpStream } from '../../domain/kernel/streams.ts';
import { dailyQuota, type RecipientCounts } from '../../domain/warm-up/daily-quota.ts';
import {
  CAP_MAX,
  DEFAULT_PLAN,
  dayOf,
  lastDayOf,
  PLAN_DAYS_MAX,
  type Plan,
  type PlannedDay,
  plannedDay,
  type WarmUp,
  warmUp,
} from '../../domain/warm-up/warm-up.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { endpoint } from '../endpoint.ts';
import { type SerializedWarmUp, warmUpSchema } from '../schemas/warm-up.ts';
import { atMost } from '../validation/fields.ts';
import { loadDomain } from './domains.ts';

/** More would list destinations far below their share; the log has them all. */
const SHOWN_MAX = 100;

export interface WarmUpNow {
  readonly plan: Plan | null;
  readonly planned: PlannedDay | null;
  readonly taken: RecipientCounts;
}

const statusOf = ({ plan, planned }: WarmUpNow): SerializedWarmUp['status'] => {
  if (plan === null) return 'none';
  return planned === null ? 'over' : 'running';
};

export const serializeWarmUp = (domainId: string, now: WarmUpNow): SerializedWarmUp => {
  const { plan, planned, taken } = now;
  const most = [...taken].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, SHOWN_MAX);
  return {
    object: 'domain_warm_up',
    domain_id: domainId,
    status: statusOf(now),
    plan: [...(plan?.caps ?? [])],
    starts_on: plan?.startsOn ?? null,
    ends_on: plan === null ? null : lastDayOf(plan),
    day: planned?.number ?? null,
    recipients_max: planned?.cap ?? null,
    today: most.map(([destination, recipients]) => ({ destination, recipients })),
  };
};

/** Serializes a warm-up with today's use of it, which is read only while a plan runs. */
export const serializeWarmUpOf = async (
  { context: { store, system } }: Pick<HttpDependencies, 'context'>,
  domainId: string,
  { plan }: WarmUp,
): Promise<SerializedWarmUp> => {
  const today = dayOf(system.now());
  const planned = plan === null ? null : plannedDay(plan, today);
  const { state } =
    planned === null ? { state: dailyQuota.initial } : await load(store, dailyQuota, dailyQuotaStream(domainId, today));
  return serializeWarmUp(domainId, { plan, planned, taken: state.taken });
};

export const getWarmUpRoute = endpoint(
  'GET /v1/domains/:id/warm-up',
  {
    summary: 'Read the warm-up of a domain and today’s numbers by destination',
    answer: warmUpSchema,
  },
  async ({ caller, id }, { deps }) => {
    await loadDomain(deps, caller, id);
    const { state } = await load(deps.context.store, warmUp, warmUpStream(id));
    return serializeWarmUpOf(deps, id, state);
  },
);

const body = z.strictObject({
  plan: atMost(PLAN_DAYS_MAX, z.array(z.int().min(1).max(CAP_MAX)).min(1).max(PLAN_DAYS_MAX))
    .default([...DEFAULT_PLAN])
    .describe('Recipients per destination on the first day, the second, and so on.'),
});

export const startWarmUpRoute = endpoint(
  'PUT /v1/domains/:id/warm-up',
  {
    summary: 'Start the warm-up of a domain: a daily quota that grows',
    description:
      'Starts today and replaces another plan; the same plan continues if it runs. A destination is the ' +
      'mailbox provider of a recipient’s domain, or each recipient domain when one server takes all mail ' +
      '(`MAIL_URL=smtp://…`). All live mail of the domain counts. Bulk mail above the quota waits for a ' +
      'later day; its `ttl_seconds` pause until then unless they are below the default. Transactional mail ' +
      'never waits. Days are UTC.',
    body,
    examples: { 'The default plan': {}, 'A plan of five days': { plan: [50, 200, 1000, 5000, 20_000] } },
    answer: warmUpSchema,
  },
  async ({ caller, origin, id, body: { plan } }, { deps }) => {
    await loadDomain(deps, caller, id);
    return serializeWarmUpOf(deps, id, await startWarmUp(deps.context, origin, { domainId: id, caps: plan }));
  },
);

export const endWarmUpRoute = endpoint(
  'DELETE /v1/domains/:id/warm-up',
  {
    summary: 'End the warm-up of a domain early',
    description:
      'Its mail is no longer held. Waiting mail leaves within seconds; a long backlog takes turns with other ' +
      'mail. Without a plan nothing changes.',
  },
  async ({ caller, origin, id }, { deps }) => {
    await loadDomain(deps, caller, id);
    await endWarmUp(deps.context, origin, id);
  },
);
