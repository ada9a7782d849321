import { z } from 'zod';
import { load } from '../../commands/execute.ts';
import { releaseSending } from '../../commands/reputation.ts';
import {
  countedFrom,
  NO_COUNTS,
  type ReputationCounts,
  type Share,
  sharesOf,
} from '../../domain/reputation/evaluate-reputation.ts';
import { MEASURES } from '../../domain/reputation/events.ts';
import { REPUTATION_LEVELS, type Reputation, reputation } from '../../domain/reputation/reputation.ts';
import { reputationStream } from '../../domain/streams.ts';
import { readYourWrites } from '../consistency.ts';
import { defineEndpoint, type RouteContext } from '../endpoint.ts';
import { timeSchema } from '../schemas/envelope.ts';
import { loadDomain } from './domains.ts';

const shareSchema = z.strictObject({
  count: z.number().int(),
  of: z.number().int(),
  percent: z.number().describe('Rounded to three decimals.'),
});

const level = z
  .enum(REPUTATION_LEVELS)
  .describe(
    '`warned`: nothing follows yet. `slowed`: live bulk mail leaves message by message. `paused`: it waits. Transactional mail is never held back.',
  );

const reputationFields = {
  level,
  measure: z.enum(MEASURES).nullable().describe('What led to it; null: the level is `good`.'),
  since: timeSchema().nullable().describe('null: it was never other than `good`.'),
  released_at: timeSchema().nullable().describe('Nothing from before is counted.'),
  bounces: shareSchema.describe('Recipients whose mailbox does not exist, of those delivered to or so refused.'),
  complaints: shareSchema.describe('Recipients who complained, of those delivered to.'),
};

export const domainStandingSchema = z.strictObject({
  object: z.literal('domain_standing'),
  domain_id: z.string(),
  ...reputationFields,
  organization_level: z
    .enum(REPUTATION_LEVELS)
    .describe('How all domains of the organization stand together: the worse of the two levels applies.'),
});

export const organizationStandingSchema = z.strictObject({
  object: z.literal('organization_standing'),
  organization_id: z.string(),
  ...reputationFields,
});

const THOUSANDTHS = 1000;

const serializeShare = ({ count, of, percent }: Share): z.infer<typeof shareSchema> => ({
  count,
  of,
  percent: Math.round(percent * THOUSANDTHS) / THOUSANDTHS,
});

const serializeStanding = ({ level, measure, since, releasedAt }: Reputation, counts: ReputationCounts) => {
  const { bounces, complaints } = sharesOf(counts);
  return {
    level,
    measure,
    since,
    released_at: releasedAt,
    bounces: serializeShare(bounces),
    complaints: serializeShare(complaints),
  };
};

export const serializeDomainStanding = (
  domainId: string,
  { own, ofOrganization }: { readonly own: Reputation; readonly ofOrganization: Reputation },
  counts: ReputationCounts,
): z.infer<typeof domainStandingSchema> => ({
  object: 'domain_standing',
  domain_id: domainId,
  ...serializeStanding(own, counts),
  organization_level: ofOrganization.level,
});

export const serializeOrganizationStanding = (
  organizationId: string,
  standing: Reputation,
  counts: ReputationCounts,
): z.infer<typeof organizationStandingSchema> => ({
  object: 'organization_standing',
  organization_id: organizationId,
  ...serializeStanding(standing, counts),
});

export const getStandingRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/domains/:id/standing',
    {
      summary: 'See how much of a domain’s bulk mail bounces or is complained about, and what follows',
      description:
        'Live bulk mail of the last seven days, by the day (UTC) its outcome became known. Less than 200 recipients or ' +
        'five bounces or complaints are not judged. A level lasts until the rate is a fifth below what led to it.',
      answer: domainStandingSchema,
    },
    async ({ caller, id }) => {
      await loadDomain(deps, caller, id);
      const { store } = deps.context;
      const [{ state: own }, { state: ofOrganization }] = await Promise.all([
        load(store, reputation, reputationStream(id)),
        load(store, reputation, reputationStream(caller.organizationId)),
      ]);
      await readYourWrites(deps, ['standings']);
      const from = countedFrom(deps.context.system.now());
      const counts = await deps.readModels.standings.ofSender({ from, senderId: id });
      return serializeDomainStanding(id, { own, ofOrganization }, counts ?? NO_COUNTS);
    },
  );
};

export const getOrganizationStandingRoute = (route: RouteContext): void => {
  const { deps } = route;
  defineEndpoint(
    route,
    'GET /v1/organization/standing',
    {
      summary: 'See how much of the bulk mail of all domains together bounces or is complained about, and what follows',
      description:
        'By the same rules as the standing of a domain; what follows concerns all of them. An organization is judged once ' +
        'more than one of its domains has sent bulk mail.',
      answer: organizationStandingSchema,
    },
    async ({ caller: { organizationId } }) => {
      const { store, system } = deps.context;
      const { state } = await load(store, reputation, reputationStream(organizationId));
      await readYourWrites(deps, ['standings']);
      const by = { from: countedFrom(system.now()), senderId: organizationId };
      const counts = await deps.readModels.standings.ofSender(by);
      return serializeOrganizationStanding(organizationId, state, counts ?? NO_COUNTS);
    },
  );
};

const releasedDomainSchema = z.strictObject({
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
      answer: releasedDomainSchema,
    },
    async ({ caller, origin, id }) => {
      await loadDomain(deps, caller, id);
      const released = await releaseSending(deps.context, origin, id);
      return { object: 'released_domain', domain_id: id, released };
    },
  );
};

const releasedOrganizationSchema = z.strictObject({
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
      answer: releasedOrganizationSchema,
    },
    async ({ caller: { organizationId }, origin }) => {
      const released = await releaseSending(deps.context, origin, null);
      return { object: 'released_organization', organization_id: organizationId, released };
    },
  );
};
