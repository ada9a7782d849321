import { z } from 'zod';
import { load } from '../../commands/execute.ts';
import { pauseBulkMail, releaseSending } from '../../commands/reputation.ts';
import { reputationStream } from '../../domain/kernel/streams.ts';
import {
  countedFrom,
  type Limits,
  NO_COUNTS,
  type ReputationCounts,
  type ReputationLimits,
  type Share,
  sharesOf,
} from '../../domain/reputation/evaluate-reputation.ts';
import { type Reputation, reputation } from '../../domain/reputation/reputation.ts';
import { readYourWrites } from '../consistency.ts';
import { endpoint } from '../endpoint.ts';
import { timeSchema } from '../schemas/envelope.ts';
import {
  domainReputationSchema,
  organizationReputationSchema,
  type SerializedDomainReputation,
  type SerializedMeasurement,
  type SerializedOrganizationReputation,
} from '../schemas/sender-reputation.ts';
import { loadDomain } from './domains.ts';

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

export const serializeDomainReputation = (
  domainId: string,
  { own, ofOrganization }: { readonly own: Reputation; readonly ofOrganization: Reputation },
  judged: SenderCounts,
): SerializedDomainReputation => ({
  object: 'domain_reputation',
  domain_id: domainId,
  ...serializeReputation(own, judged),
  organization_level: ofOrganization.level,
});

export const serializeOrganizationReputation = (
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
    summary: 'Read the bounce and complaint rates of a domain’s bulk mail and their effect',
    description:
      'Live bulk mail of the last seven days, by the day (UTC) of its outcome. Fewer than 200 recipients, or ' +
      'fewer than five bounces or complaints, are not evaluated. A level lasts until the rate falls a fifth ' +
      'below its limit.',
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
    const counts = await deps.readModels.reputation.ofSender({ from, senderId: id });
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
    summary: 'Read the bounce and complaint rates of the organization’s bulk mail and their effect',
    description:
      'The same rules as for a domain, applied to all domains together. An organization is evaluated once ' +
      'more than one of its domains has sent bulk mail.',
    answer: organizationReputationSchema,
  },
  async ({ caller: { organizationId } }, { deps }) => {
    const { store, system } = deps.context;
    const { state } = await load(store, reputation, reputationStream(organizationId));
    await readYourWrites(deps, ['reputation']);
    const by = { from: countedFrom(system.now()), senderId: organizationId };
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
    summary: 'Release a domain’s bulk mail that was slowed down or paused',
    description:
      'Restarts the count of bounces and complaints. Waiting mail is sent within seconds; a long backlog ' +
      'takes turns with other mail. Restrictions of the whole organization have their own release.',
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
    summary: 'Release bulk mail that was slowed down or paused by the organization’s rates',
    description:
      'Restarts the count of bounces and complaints of the organization. A domain restricted by its own ' +
      'rates has its own release.',
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
  paused_since: timeSchema().nullable().describe('null: bulk mail is not paused.'),
});

export const pauseBulkMailRoute = endpoint(
  'PUT /v1/organization/bulk-mail',
  {
    summary: 'Pause all bulk mail of the organization, or resume it',
    description:
      'While paused, live bulk mail of all domains is accepted and waits; it expires at the end of its time to live. ' +
      'Messages in flight are not stopped, and transactional mail is never held. After resuming, mail is sent as after a ' +
      'release. Both actions are recorded.',
    body: z.strictObject({ paused: z.boolean().describe('true: pause. false: resume.') }),
    examples: { 'A wrong list': { paused: true }, 'Go on': { paused: false } },
    answer: pausedBulkMailSchema,
    etag: false,
  },
  async ({ caller: { organizationId }, origin, body: { paused } }, { deps }) => {
    const { pausedSince } = await pauseBulkMail(deps.context, origin, paused);
    return { object: 'bulk_mail', organization_id: organizationId, paused_since: pausedSince };
  },
);
