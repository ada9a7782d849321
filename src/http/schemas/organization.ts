import { z } from 'zod';
import { maskedRoleSchema } from '../../domain/member/events.ts';
import { ANALYSIS_POLICIES, HTML_RULES } from '../../domain/organization/events.ts';
import { rateLimitsSchema } from '../../domain/rate-limits.ts';
import { timeSchema } from './envelope.ts';

const htmlRule = z.enum(HTML_RULES);

export const organizationSchema = z.strictObject({
  id: z.string(),
  object: z.literal('organization'),
  name: z.string(),
  contact: z.string().nullable().describe('Where the service writes to the organization; null: nowhere.'),
  content_retention_days: z.int(),
  default_analysis: z.enum(ANALYSIS_POLICIES),
  html_validation: z
    .strictObject({ api: htmlRule, compat: htmlRule, smtp: htmlRule })
    .describe('Which html is accepted, by the entry of the message: valid html alone, or any that a browser shows.'),
  timezone: z.string(),
  session_idle_minutes: z.int().describe('After this long without a request a session of a member is over.'),
  session_hours: z.int().describe('After this long it is over however often it is used.'),
  contents_allowed_to: z
    .array(maskedRoleSchema)
    .describe('Roles that see addresses, subjects and bodies of mail although by themselves they do not.'),
  rate_limit_ceilings: rateLimitsSchema.nullable(),
  legal_hold_since: timeSchema()
    .nullable()
    .describe('Since when nothing is removed, by its age or by an erasure; null: there is no legal hold.'),
  created_at: timeSchema(),
});

export type SerializedOrganization = z.infer<typeof organizationSchema>;
