import { z } from 'zod';
import { MEASURES } from '../../domain/reputation/events.ts';
import { REPUTATION_LEVELS } from '../../domain/reputation/reputation.ts';
import { timeSchema } from './envelope.ts';

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
    '`warned`: no effect yet. `slowed`: live bulk mail is sent one message at a time. `paused`: it waits. ' +
      'Transactional mail is never restricted.',
  );

const reputationFields = {
  level,
  measure: z.enum(MEASURES).nullable().describe('Reason for the level; null: the level is `good`.'),
  since: timeSchema().nullable().describe('null: the level was always `good`.'),
  released_at: timeSchema().nullable().describe('Earlier mail is not counted.'),
  bounces: measuredSchema.describe(
    'Recipients without a mailbox, relative to delivered recipients and those without a mailbox.',
  ),
  complaints: measuredSchema.describe('Recipients who complained, relative to delivered recipients.'),
};

export const domainReputationSchema = z.strictObject({
  object: z.literal('domain_reputation'),
  domain_id: z.string(),
  ...reputationFields,
  organization_level: z
    .enum(REPUTATION_LEVELS)
    .describe('The same for all domains of the organization together. The worse of the two levels applies.'),
});
export type SerializedDomainReputation = z.infer<typeof domainReputationSchema>;

export const organizationReputationSchema = z.strictObject({
  object: z.literal('organization_reputation'),
  organization_id: z.string(),
  ...reputationFields,
  bulk_mail_paused_since: timeSchema()
    .nullable()
    .describe(
      'Time when all live bulk mail was paused by request, independently of the level; null: not paused by request.',
    ),
});
export type SerializedOrganizationReputation = z.infer<typeof organizationReputationSchema>;
