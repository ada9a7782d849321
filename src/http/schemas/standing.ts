import { z } from 'zod';
import { MEASURES } from '../../domain/reputation/events.ts';
import { type SendingCounts, type Share, sharesOf } from '../../domain/reputation/sending-counts.ts';
import { STANDING_LEVELS, type Standing } from '../../domain/reputation/standing.ts';
import { timeShape } from './time.ts';

const shareShape = z.strictObject({
  count: z.number().int(),
  of: z.number().int(),
  percent: z.number().describe('Rounded to three decimals.'),
});

const level = z
  .enum(STANDING_LEVELS)
  .describe(
    '`warned`: nothing follows yet. `slowed`: live bulk mail leaves message by message. `paused`: it waits. Transactional mail is never held back.',
  );

const shown = {
  level,
  measure: z.enum(MEASURES).nullable().describe('What led to it; null: the level is `good`.'),
  since: timeShape().nullable().describe('null: it was never other than `good`.'),
  released_at: timeShape().nullable().describe('Nothing from before is counted.'),
  bounces: shareShape.describe('Recipients whose mailbox does not exist, of those delivered to or so refused.'),
  complaints: shareShape.describe('Recipients who complained, of those delivered to.'),
};

export const domainStandingShape = z.strictObject({
  object: z.literal('domain_standing'),
  domain_id: z.string(),
  ...shown,
  organization_level: z
    .enum(STANDING_LEVELS)
    .describe('How all domains of the organization stand together: the worse of the two levels applies.'),
});

export const organizationStandingShape = z.strictObject({
  object: z.literal('organization_standing'),
  organization_id: z.string(),
  ...shown,
});

const THOUSANDTHS = 1000;

const showShare = ({ count, of, percent }: Share): z.infer<typeof shareShape> => ({
  ...{ count, of, percent: Math.round(percent * THOUSANDTHS) / THOUSANDTHS },
});

const showStanding = ({ level, measure, since, releasedAt }: Standing, counts: SendingCounts) => {
  const { bounces, complaints } = sharesOf(counts);
  return {
    ...{ level, measure, since, released_at: releasedAt },
    ...{ bounces: showShare(bounces), complaints: showShare(complaints) },
  };
};

export const showDomainStanding = (
  domainId: string,
  { own, ofOrganization }: { readonly own: Standing; readonly ofOrganization: Standing },
  counts: SendingCounts,
): z.infer<typeof domainStandingShape> => ({
  ...{ object: 'domain_standing', domain_id: domainId, ...showStanding(own, counts) },
  organization_level: ofOrganization.level,
});

export const showOrganizationStanding = (
  organizationId: string,
  standing: Standing,
  counts: SendingCounts,
): z.infer<typeof organizationStandingShape> => ({
  ...{ object: 'organization_standing', organization_id: organizationId, ...showStanding(standing, counts) },
});
