import { z } from 'zod';
import { load } from '../../../commands/execute.ts';
import { pauseBulkMail, releaseSending } from '../../../commands/reputation.ts';
import { endWarmUp, startWarmUp } from '../../../commands/warm-up.ts';
import { dailyQuotaStream, reputationStream, warmUpStream } from '../../../domain/kernel/streams.ts';
import {
  countedFrom,
  type Limits,
  MEASURES,
  NO_COUNTS,
  REPUTATION_LEVELS,
  type Reputation,
  type ReputationCounts,
  type ReputationLimits,
  reputation,
  type Share,
  sharesOf,
} from '../../../domain/reputation/reputation.ts';
import {
  CAP_MAX,
  DEFAULT_PLAN,
  dailyQuota,
  dayOf,
  lastDayOf,
  PLAN_DAYS_MAX,
  type Plan,
  type PlannedDay,
  plannedDay,
  type RecipientCounts,
  type WarmUp,
  warmUp,
} from '../../../domain/warm-up/warm-up.ts';
import type { HttpDependencies } from '../../dependencies.ts';
import { endpoint } from '../../endpoint.ts';
import { atMost, timeSchema } from '../../fields.ts';
import { readYourWrites } from '../../reading.ts';
import { loadDomain } from './domains.ts';

const shareSchema = z.strictObject({
  count: z.number().int(),
  of: z.number().int(),
  percent: z.number().describe('Rounded to three decimals.'),
});

const limitsSchema = z.strictObject({
  warned_percent: z.number(),
  slowed_percent: z.number(),
  paused_percent: z.number(),
});

const measuredSchema = shareSchema.extend({
  limits: limitsSchema
    .nullable()
    .describe(
      'Percentages at which the level becomes `warned`, `slowed` and `paused`. null: this service does not evaluate it.',
    ),
});
export type SerializedMeasurement = z.infer<typeof measuredSchema>;

const level = z
  .enum(REPUTATION_LEVELS)
  .describe(
    '`warned`: no effect yet. `slowed`: live bulk mail is sent one message at a time. `paused`: live bulk mail waits. ' +
      'Transactional mail is never restricted.',
  );

const reputationFields = {
  level,
  measure: z.enum(MEASURES).nullable().describe('Reason for the level; null: the level is `good`.'),
  since: timeSchema().nullable().describe('Time when the level last changed. null: it has always been `good`.'),
  released_at: timeSchema().nullable().describe('Start of the count. Earlier mail is not counted.'),
  bounces: measuredSchema.describe(
    'Recipients whose mailbox does not exist, divided by these and the delivered recipients.',
  ),
  complaints: measuredSchema.describe('Recipients who complained, divided by delivered recipients.'),
};

const domainReputationSchema = z.strictObject({
  object: z.literal('domain_reputation'),
  domain_id: z.string(),
  ...reputationFields,
  organization_level: z
    .enum(REPUTATION_LEVELS)
    .describe('The reputation of all domains of the organization together. The worse of the two levels applies.'),
});
export type SerializedDomainReputation = z.infer<typeof domainReputationSchema>;

const organizationReputationSchema = z.strictObject({
  object: z.literal('organization_reputation'),
  organization_id: z.string(),
  ...reputationFields,
  bulk_mail_paused_since: timeSchema()
    .nullable()
    .describe('Time when someone paused all live bulk mail, independently of the level. null: not paused.'),
});
export type SerializedOrganizationReputation = z.infer<typeof organizationReputationSchema>;

const THOUSANDTHS = 1000;

const serializeLimits = (limits: Limits | null): SerializedMeasurement['limits'] => {
  if (limits === null) return null;
  const [warned, slowed, paused] = limits;
  return { warned_percent: warned, slowed_percent: slowed, paused_percent: paused };
};

const serializeMeasured = ({ count, of, percent }: Share, limits: Limits | null): SerializedMeasurement => ({
  count,
  of,
  percent: Math.round(percent * THOUSANDTHS) / THOUSANDTHS,
  limits: serializeLimits(limits),
});

/** Counts of a sender, and the limits that apply to them. */
interface SenderCounts {
  readonly counts: ReputationCounts;
  readonly limits: ReputationLimits;
}

const serializeReputation = ({ level, measure, since, releasedAt }: Reputation, { counts, limits }: SenderCounts) => {
  const { bounces, complaints } = sharesOf(counts);
  return {
    level,
    measure,
    since,
    released_at: releasedAt,
    bounces: serializeMeasured(bounces, limits.bounces),
    complaints: serializeMeasured(complaints, limits.complaints),
  };
};

const serializeDomainReputation = (
  domainId: string,
  { own, ofOrganization }: { readonly own: Reputation; readonly ofOrganization: Reputation },
  judged: SenderCounts,
): SerializedDomainReputation => ({
  object: 'domain_reputation',
  domain_id: domainId,
  ...serializeReputation(own, judged),
  organization_level: ofOrganization.level,
});

const serializeOrganizationReputation = (
  organizationId: string,
  reputation: Reputation,
  judged: SenderCounts,
): SerializedOrganizationReputation => ({
  object: 'organization_reputation',
  organization_id: organizationId,
  ...serializeReputation(reputation, judged),
  bulk_mail_paused_since: reputation.pausedSince,
});

export const getDomainReputationRoute = endpoint(
  'GET /v1/domains/:id/reputation',
  {
    summary: 'Get the reputation of a domain',
    description:
      'Returns the bounce and complaint rates of live bulk mail, the level that follows from them, and its effect. Counts ' +
      'the outcomes of the last seven days (UTC). Fewer than 200 recipients, or fewer than five bounces or complaints, are ' +
      'not evaluated. A level ends when the rate has fallen a fifth below its limit.',
    answer: domainReputationSchema,
  },
  async ({ caller, id }, { deps }) => {
    await loadDomain(deps, caller, id);
    const { store } = deps.context;
    const [{ state: own }, { state: ofOrganization }] = await Promise.all([
      load(store, reputation, reputationStream(id)),
      load(store, reputation, reputationStream(caller.organizationId)),
    ]);
    await readYourWrites(deps, ['reputation']);
    const from = countedFrom(deps.context.system.now());
    const counts = await deps.readModels.reputation.ofSender({
      organizationId: caller.organizationId,
      from,
      senderId: id,
    });
    return serializeDomainReputation(
      id,
      { own, ofOrganization },
      { counts: counts ?? NO_COUNTS, limits: deps.sendingLimits },
    );
  },
);

export const getOrganizationReputationRoute = endpoint(
  'GET /v1/organization/reputation',
  {
    summary: 'Get the reputation of the organization',
    description:
      'Applies the rules of domains to all domains of the organization together. An organization is evaluated once more ' +
      'than one of its domains has sent bulk mail.',
    answer: organizationReputationSchema,
  },
  async ({ caller: { organizationId } }, { deps }) => {
    const { store, system } = deps.context;
    const { state } = await load(store, reputation, reputationStream(organizationId));
    await readYourWrites(deps, ['reputation']);
    const by = { organizationId, from: countedFrom(system.now()), senderId: organizationId };
    const counts = await deps.readModels.reputation.ofSender(by);
    return serializeOrganizationReputation(organizationId, state, {
      counts: counts ?? NO_COUNTS,
      limits: deps.sendingLimits,
    });
  },
);

const releasedDomainSchema = z.strictObject({
  object: z.literal('released_domain'),
  domain_id: z.string(),
  released: z.boolean().describe('false: there was no restriction, so nothing changed.'),
});

export const releaseSendingRoute = endpoint(
  'POST /v1/domains/:id/release',
  {
    summary: 'Release the bulk mail of a domain',
    description:
      'Ends the restriction of a domain that was slowed or paused because of its rates, and restarts the count of bounces ' +
      'and complaints. Waiting mail is sent within seconds; a long backlog shares capacity with other mail. A restriction ' +
      'of the whole organization is released with `POST /v1/organization/release`.',
    answer: releasedDomainSchema,
  },
  async ({ caller, origin, id }, { deps }) => {
    await loadDomain(deps, caller, id);
    const released = await releaseSending(deps.context, origin, id);
    return { object: 'released_domain', domain_id: id, released };
  },
);

const releasedOrganizationSchema = z.strictObject({
  object: z.literal('released_organization'),
  organization_id: z.string(),
  released: z.boolean().describe('false: there was no restriction, so nothing changed.'),
});

export const releaseOrganizationSendingRoute = endpoint(
  'POST /v1/organization/release',
  {
    summary: 'Release the bulk mail of the organization',
    description:
      'Ends the restriction of an organization that was slowed or paused because of its rates, and restarts the count of ' +
      'bounces and complaints. A domain that is restricted by its own rates is released with `POST /v1/domains/{id}/release`.',
    answer: releasedOrganizationSchema,
  },
  async ({ caller: { organizationId }, origin }, { deps }) => {
    const released = await releaseSending(deps.context, origin, null);
    return { object: 'released_organization', organization_id: organizationId, released };
  },
);

const pausedBulkMailSchema = z.strictObject({
  object: z.literal('bulk_mail'),
  organization_id: z.string(),
  paused_since: timeSchema().nullable().describe('Time when bulk mail was paused. null: it is not paused.'),
});

export const pauseBulkMailRoute = endpoint(
  'PUT /v1/organization/bulk-mail',
  {
    summary: 'Pause or resume all bulk mail',
    description:
      'While bulk mail is paused, live bulk mail of all domains is still accepted, but it waits, and expires when its time ' +
      'to live ends. Messages that are being sent are not stopped, and transactional mail is not affected. When you resume, ' +
      'waiting mail is sent within seconds. Both actions are recorded.',
    body: z.strictObject({ paused: z.boolean().describe('true: pause bulk mail. false: resume it.') }),
    examples: { Pause: { paused: true }, Resume: { paused: false } },
    answer: pausedBulkMailSchema,
    etag: false,
  },
  async ({ caller: { organizationId }, origin, body: { paused } }, { deps }) => {
    const { pausedSince } = await pauseBulkMail(deps.context, origin, paused);
    return { object: 'bulk_mail', organization_id: organizationId, paused_since: pausedSince };
  },
);

const daySchema = () => z.string().meta({ format: 'date' });

const destinationSchema = z.strictObject({
  destination: z.string().describe('Name of the mailbox provider.'),
  recipients: z
    .number()
    .int()
    .describe('Recipients sent to, plus reserved ones. A twentieth of the quota is reserved at a time.'),
});

const warmUpSchema = z.strictObject({
  object: z.literal('domain_warm_up'),
  domain_id: z.string(),
  status: z.enum(['none', 'running', 'over']).describe('`none`: the warm-up was never started, or was ended early.'),
  plan: z.array(z.number().int()).describe('Quota of recipients per destination for each day of the plan.'),
  starts_on: daySchema().nullable(),
  ends_on: daySchema().nullable().describe('Last day of the plan.'),
  day: z.number().int().nullable().describe('Number of the current day, from 1. null: no plan is running.'),
  recipients_max: z.number().int().nullable().describe('Today’s quota for each destination. null: no plan is running.'),
  today: z.array(destinationSchema).describe('The destinations with the most mail today, at most 100.'),
});
export type SerializedWarmUp = z.infer<typeof warmUpSchema>;

/** More would list destinations far below their share; the log has them all. */
const SHOWN_MAX = 100;

interface WarmUpNow {
  readonly plan: Plan | null;
  readonly planned: PlannedDay | null;
  readonly taken: RecipientCounts;
}

const statusOf = ({ plan, planned }: WarmUpNow): SerializedWarmUp['status'] => {
  if (plan === null) return 'none';
  return planned === null ? 'over' : 'running';
};

const serializeWarmUp = (domainId: string, now: WarmUpNow): SerializedWarmUp => {
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
const serializeWarmUpOf = async (
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
    summary: 'Get the warm-up of a domain',
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
    .describe('Quota of recipients per destination for the first day, the second, and so on.'),
});

export const startWarmUpRoute = endpoint(
  'PUT /v1/domains/:id/warm-up',
  {
    summary: 'Start the warm-up of a domain',
    description:
      'Limits how many recipients the domain sends to per day and destination, with a quota that grows daily. The plan ' +
      'starts today (UTC) and replaces another plan; if the same plan is running, it continues. A destination is the ' +
      'mailbox provider of a recipient domain, or the recipient domain itself if a smarthost accepts all mail ' +
      '(`MAIL_URL=smtp://…`). All live mail counts. Bulk mail above the quota waits for a later day, and its `ttl_seconds` ' +
      'do not count down while it waits, unless they are below the default. Transactional mail never waits.',
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
    summary: 'End the warm-up of a domain',
    description:
      'Ends the plan early. Waiting mail is sent within seconds; a long backlog shares capacity with other mail. Without a ' +
      'plan, nothing changes.',
  },
  async ({ caller, origin, id }, { deps }) => {
    await loadDomain(deps, caller, id);
    await endWarmUp(deps.context, origin, id);
  },
);
