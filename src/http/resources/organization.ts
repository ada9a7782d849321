import { z } from 'zod';
import {
  loadOrganization,
  type OrganizationAtRevision,
  setContentsRoles,
  setLegalHold,
  updateOrganization,
} from '../../commands/organization.ts';
import { rateLimitsSchema } from '../../domain/kernel/rate-limits.ts';
import { MASKED_ROLES, maskedRoleSchema } from '../../domain/member/events.ts';
import {
  ANALYSIS_POLICIES,
  CONTENT_DAYS_MAX,
  HTML_RULES,
  SESSION_HOURS,
  SESSION_IDLE_MINUTES,
} from '../../domain/organization/events.ts';
import { endpoint } from '../endpoint.ts';
import { shownLine, timeSchema, timeZone } from '../fields.ts';
import { ifMatch, setRevision } from '../reading.ts';
import { bareAddress } from './messages/send-fields.ts';

const htmlRule = z.enum(HTML_RULES);

const organizationSchema = z.strictObject({
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

const serializeOrganization = ({
  organization: { organizationId, settings, contentsRoles, ceilings, heldSince, suspension, createdAt },
  contact,
}: OrganizationAtRevision): SerializedOrganization => ({
  id: organizationId,
  object: 'organization',
  name: settings.name,
  contact,
  content_retention_days: settings.contentDays,
  default_analysis: settings.analysis,
  html_validation: { ...settings.htmlValidation },
  timezone: settings.timezone,
  session_idle_minutes: settings.sessionIdleMinutes,
  session_hours: settings.sessionHours,
  contents_allowed_to: [...contentsRoles],
  rate_limit_ceilings: ceilings,
  legal_hold_since: heldSince,
  suspension: suspension === null ? null : { ...suspension },
  created_at: createdAt,
});

export const getOrganizationRoute = endpoint(
  'GET /v1/organization',
  { summary: "Read the key's organization", answer: organizationSchema },
  async ({ caller: { organizationId }, reply }, { deps: { context } }) => {
    const found = await loadOrganization(context, organizationId);
    setRevision(reply, found.revision);
    return serializeOrganization(found);
  },
);

const NAME_CHARACTERS_MAX = 100;

const changedRule = htmlRule.optional();

const changes = z.strictObject({
  name: shownLine(NAME_CHARACTERS_MAX).optional().describe('Name of the organization.'),
  contact: bareAddress
    .nullable()
    .optional()
    .describe('One email address without a name, for mail about the organization itself; null removes it.'),
  content_retention_days: z
    .int()
    .min(0)
    .max(CONTENT_DAYS_MAX)
    .optional()
    .describe('Days that contents of messages are kept. 0: until no delivery needs them.'),
  default_analysis: z
    .enum(ANALYSIS_POLICIES)
    .optional()
    .describe('Default `analysis` of messages, sent by HTTP or by SMTP.'),
  html_validation: z
    .strictObject({ api: changedRule, compat: changedRule, smtp: changedRule })
    .optional()
    .describe(
      'Which html is accepted from `/v1` (`api`), from `/compat` and by SMTP. `strict`: valid html alone. `browser`: any ' +
        'that a browser shows, unchanged; the problems are recorded as findings of the message. An absent entry keeps its rule.',
    ),
  timezone: timeZone().optional().describe('Default IANA time zone of statistics.'),
  session_idle_minutes: z
    .int()
    .min(SESSION_IDLE_MINUTES.min)
    .max(SESSION_IDLE_MINUTES.max)
    .optional()
    .describe('A member’s session ends after this many minutes without a request. Also applies to open sessions.'),
  session_hours: z
    .int()
    .min(SESSION_HOURS.min)
    .max(SESSION_HOURS.max)
    .optional()
    .describe('A member’s session ends after this many hours even if it is used.'),
});

export const updateOrganizationRoute = endpoint(
  'PATCH /v1/organization',
  {
    summary: 'Change the settings of the organization',
    description: 'Absent fields stay unchanged. Rate limit ceilings are set by the operator of the service.',
    body: changes,
    examples: {
      'Name and contact': { name: 'Example Shop', contact: 'mail-team@example.test' },
      'Keep contents for a week': { content_retention_days: 7 },
      'Refuse messages with errors': { default_analysis: 'block' },
      'Sessions of a working day': { session_idle_minutes: 60, session_hours: 12 },
      'Accept any html from /v1': { html_validation: { api: 'browser' } },
      'Days of statistics as in Berlin': { timezone: 'Europe/Berlin' },
    },
    answer: organizationSchema,
  },
  async ({ origin, body, request, reply }, { deps, auth }) => {
    const { name, contact, timezone } = body;
    const wanted = {
      name,
      contact,
      contentDays: body.content_retention_days,
      analysis: body.default_analysis,
      htmlValidation: body.html_validation,
      timezone,
      sessionIdleMinutes: body.session_idle_minutes,
      sessionHours: body.session_hours,
    };
    const changed = await updateOrganization(deps.context, origin, { changes: wanted, ...ifMatch(request) });
    await auth.keyCache.catchUp(); // sends and statistics read the settings there
    setRevision(reply, changed.revision);
    return serializeOrganization(changed);
  },
);

export const setLegalHoldRoute = endpoint(
  'PUT /v1/organization/holds',
  {
    summary: 'Begin or end a legal hold',
    description:
      'While it is active, no contents of the organization are removed: retention is suspended, and erasures are `held`. ' +
      'Its start and end are recorded.',
    body: z.strictObject({
      active: z.boolean().describe('true: begin. false: end; removals that waited are then carried out.'),
    }),
    examples: { 'Keep everything': { active: true }, 'The matter is over': { active: false } },
    answer: organizationSchema,
  },
  async ({ origin, body: { active }, request, reply }, { deps }) => {
    const changed = await setLegalHold(deps.context, origin, { active, ...ifMatch(request) });
    setRevision(reply, changed.revision);
    return serializeOrganization(changed);
  },
);

export const setContentsRolesRoute = endpoint(
  'PUT /v1/organization/contents',
  {
    summary: 'Choose which roles may see contents of mail',
    description:
      'Analysts and auditors cannot see addresses, subjects and bodies of mail unless an owner allows it here. The change ' +
      'applies to open sessions and event streams within a second. Only owners can make it, not API keys, and it is recorded.',
    body: z.strictObject({
      allowed_to: z
        .array(maskedRoleSchema)
        .max(MASKED_ROLES.length)
        .describe('All roles that may see contents. Roles that are not listed may not.'),
    }),
    examples: { 'Analysts see addresses': { allowed_to: ['analyst'] }, 'As at first': { allowed_to: [] } },
    answer: organizationSchema,
  },
  async ({ origin, body, request, reply }, { deps, auth }) => {
    const changed = await setContentsRoles(deps.context, origin, { roles: body.allowed_to, ...ifMatch(request) });
    await auth.keyCache.catchUp(); // what members see is decided there
    setRevision(reply, changed.revision);
    return serializeOrganization(changed);
  },
);
