import { z } from 'zod';
import { MEASURES } from '../../domain/standing/events.ts';
import { type SendingCounts, type Share, sharesOf } from '../../domain/standing/sending-counts.ts';
import { STANDING_LEVELS, type Standing } from '../../domain/standing/standing.ts';
import { timeShape } from './time-shape.ts';

const shareShape = z.strictObject({
  count: z.number().int(),
  of: z.number().int(),
  percent: z.number().describe('Rounded to three decimals.'),
});

export const standingShape = z.strictObject({
  object: z.literal('domain_standing'),
  domain_id: z.string(),
  level: z
    .enum(STANDING_LEVELS)
    .describe(
      '`warned`: nothing follows yet. `slowed`: live bulk mail leaves message by message. `paused`: it waits. Transactional mail is never held back.',
    ),
  measure: z.enum(MEASURES).nullable().describe('What led to it; null: the level is `good`.'),
  since: timeShape().nullable().describe('null: it was never other than `good`.'),
  released_at: timeShape().nullable().describe('Nothing from before is counted.'),
  bounces: shareShape.describe('Recipients whose mailbox does not exist, of those delivered to or so refused.'),
  complaints: shareShape.describe('Recipients who complained, of those delivered to.'),
});

const THOUSANDTHS = 1000;

const showShare = ({ count, of, percent }: Share): z.infer<typeof shareShape> => ({
  ...{ count, of, percent: Math.round(percent * THOUSANDTHS) / THOUSANDTHS },
});

export const showStanding = (
  domainId: string,
  { level, measure, since, releasedAt }: Standing,
  counts: SendingCounts,
): z.infer<typeof standingShape> => {
  const { bounces, complaints } = sharesOf(counts);
  return {
    ...{ object: 'domain_standing', domain_id: domainId, level, measure, since, released_at: releasedAt },
    ...{ bounces: showShare(bounces), complaints: showShare(complaints) },
  };
};
