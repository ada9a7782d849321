import { z } from 'zod';
import { rateLimitsSchema } from '../../domain/kernel/rate-limits.ts';
import { maskedRoleSchema } from '../../domain/member/events.ts';
import { ANALYSIS_POLICIES, HTML_RULES } from '../../domain/organization/events.ts';
import { timeSchema } from './envelope.ts';

const htmlRule = z.enum(HTML_RULES);

export const organizationSchema = z.strictObject({
  id: z.string(),
  object: z.literal('organization'),
  name: z.string(),
  contact: z
    .string()
    .nullable()
    .describe('Address for mail from the service to the organization; null: no mail is sent.'),
  content_retention_days: z.int(),
  default_analysis: z.enum(ANALYSIS_POLICIES),
  html_validation: z
    .strictObject({ api: htmlRule, compat: htmlRule, smtp: htmlRule })
    .describe('Html accepted by the API and by SMTP: valid html only, or any that a browser can show.'),
  timezone: z.string(),
  session_idle_minutes: z.int().describe('A member’s session ends after this many minutes without a request.'),
  session_hours: z.int().describe('A member’s session ends after this many hours even if it is used.'),
  contents_allowed_to: z
    .array(maskedRoleSchema)
    .describe('Roles that may see addresses, subjects and bodies of mail, which are otherwise hidden from them.'),
  rate_limit_ceilings: rateLimitsSchema.nullable(),
  legal_hold_since: timeSchema()
    .nullable()
    .describe(
      'Start of the legal hold, during which neither retention nor erasures remove anything; null: no legal hold.',
    ),
  suspension: z
    .strictObject({ since: timeSchema(), reason: z.string().describe("The operator's reason.") })
    .nullable()
    .describe('Since when and why the operator lets the organization send no mail; null: it may send.'),
  created_at: timeSchema(),
});

export type SerializedOrganization = z.infer<typeof organizationSchema>;
