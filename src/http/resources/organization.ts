import { z } from 'zod';
import {
  loadOrganization,
  type OrganizationAtRevision,
  setContentsRoles,
  setLegalHold,
  updateOrganization,
} from '../../commands/organization.ts';
import { type Customer, customerSchema, type Issuer } from '../../domain/billing/parties.ts';
import { rateLimitsSchema } from '../../domain/kernel/rate-limits.ts';
import { MASKED_ROLES, maskedRoleSchema } from '../../domain/member/events.ts';
import {
  ANALYSIS_POLICIES,
  CONTENT_DAYS_MAX,
  HTML_RULES,
  INBOUND_DMARC_POLICIES,
  SESSION_HOURS,
  SESSION_IDLE_MINUTES,
} from '../../domain/organization/events.ts';
import { endpoint } from '../endpoint.ts';
import { shownLine, timeSchema, timeZone } from '../fields.ts';
import { ifMatch, setRevision } from '../reading.ts';
import { bareAddress } from './messages/send-fields.ts';

const htmlRule = z.enum(HTML_RULES);

const { name: customerName, address, taxId } = customerSchema.shape;
const billingDetails = z.strictObject({
  name: customerName,
  address,
  tax_id: taxId.describe('Tax or VAT number. null: none.'),
});

const organizationSchema = z.strictObject({
  id: z.string(),
  object: z.literal('organization'),
  name: z.string(),
  contact: z.string().nullable().describe('Email address for notices from the service. null: no notices are sent.'),
  content_retention_days: z.int(),
  default_analysis: z.enum(ANALYSIS_POLICIES),
  html_validation: z
    .strictObject({ api: htmlRule, compat: htmlRule, smtp: htmlRule })
    .describe('Which html is accepted from the API and by SMTP.'),
  inbound_dmarc: z.enum(INBOUND_DMARC_POLICIES),
  timezone: z.string(),
  session_idle_minutes: z.int().describe('A member’s session ends after this many minutes without a request.'),
  session_hours: z.int().describe('A member’s session ends after this many hours even if it is used.'),
  billing_details: billingDetails.nullable().describe('Customer on invoices. null: not set.'),
  contents_allowed_to: z
    .array(maskedRoleSchema)
    .describe('Roles that an owner has allowed to see addresses, subjects and bodies of mail.'),
  rate_limit_ceilings: rateLimitsSchema.nullable(),
  legal_hold_since: timeSchema()
    .nullable()
    .describe(
      'Start of the legal hold: until it ends, neither retention nor erasures remove anything. null: no legal hold.',
    ),
  suspension: z
    .strictObject({ since: timeSchema(), reason: z.string().describe('Reason that the operator gave.') })
    .nullable()
    .describe(
      'When and why the operator suspended the organization, which then cannot send mail. null: not suspended.',
    ),
  created_at: timeSchema(),
});

export type SerializedOrganization = z.infer<typeof organizationSchema>;

export const serializeCustomer = <Party extends Customer | Issuer>(party: Party | null) => {
  if (party === null) return null;
  return { name: party.name, address: party.address, tax_id: party.taxId };
};

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
  inbound_dmarc: settings.inboundDmarc,
  timezone: settings.timezone,
  session_idle_minutes: settings.sessionIdleMinutes,
  session_hours: settings.sessionHours,
  billing_details: serializeCustomer(settings.customer),
  contents_allowed_to: [...contentsRoles],
  rate_limit_ceilings: ceilings,
  legal_hold_since: heldSince,
  suspension: suspension === null ? null : { ...suspension },
  created_at: createdAt,
});

export const getOrganizationRoute = endpoint(
  'GET /v1/organization',
  { summary: 'Get the organization', answer: organizationSchema },
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
    .describe('Email address for notices from the service, without a name. null removes it.'),
  content_retention_days: z
    .int()
    .min(0)
    .max(CONTENT_DAYS_MAX)
    .optional()
    .describe('Days for which contents of messages are stored. 0: only until they are delivered.'),
  default_analysis: z
    .enum(ANALYSIS_POLICIES)
    .optional()
    .describe('Default `analysis` of messages, from the API and by SMTP.'),
  html_validation: z
    .strictObject({ api: changedRule, compat: changedRule, smtp: changedRule })
    .optional()
    .describe(
      'Which html is accepted from `/v1` (`api`), from `/compat` and by SMTP. `strict`: only valid html. `browser`: any html ' +
        'that a browser can show, unchanged; its problems become findings of the message. Omitted entries stay unchanged.',
    ),
  inbound_dmarc: z
    .enum(INBOUND_DMARC_POLICIES)
    .optional()
    .describe(
      'Inbound mail that fails DMARC. `accept`: it is received like other mail. `mark`: it is received with `marked: true`. ' +
        '`refuse`: it is refused if the sender’s domain publishes `p=quarantine` or `p=reject`, and marked otherwise.',
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
  billing_details: billingDetails
    .extend({ tax_id: taxId.default(null) })
    .nullable()
    .optional()
    .describe('Customer on later invoices. Without it they are usage statements. null removes it.'),
});

export const updateOrganizationRoute = endpoint(
  'PATCH /v1/organization',
  {
    summary: 'Update the organization',
    description:
      'Changes the settings. Omitted fields stay unchanged. Only the operator of the service can set rate limit ceilings.',
    body: changes,
    examples: {
      'Name and contact': { name: 'Example Shop', contact: 'mail-team@example.test' },
      'Keep contents for a week': { content_retention_days: 7 },
      'Reject messages with errors': { default_analysis: 'block' },
      'Customer on invoices': {
        billing_details: { name: 'Example Shop Ltd', address: '1 High Street\nLondon', tax_id: 'GB123456789' },
      },
      'Shorter sessions': { session_idle_minutes: 60, session_hours: 12 },
      'Accept any html from /v1': { html_validation: { api: 'browser' } },
      'Refuse forged inbound mail': { inbound_dmarc: 'refuse' },
      'Statistics in the time zone of Berlin': { timezone: 'Europe/Berlin' },
    },
    answer: organizationSchema,
  },
  async ({ origin, body, request, reply }, { deps, auth }) => {
    const { name, contact, timezone, billing_details: customer } = body;
    const wanted = {
      name,
      contact,
      contentDays: body.content_retention_days,
      analysis: body.default_analysis,
      inboundDmarc: body.inbound_dmarc,
      htmlValidation: body.html_validation,
      timezone,
      sessionIdleMinutes: body.session_idle_minutes,
      sessionHours: body.session_hours,
      customer: customer && { name: customer.name, address: customer.address, taxId: customer.tax_id },
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
      'Begins or ends a legal hold. During the hold nothing of the organization is removed: retention is suspended, and ' +
      'erasures are `held`. Start and end are recorded.',
    body: z.strictObject({
      active: z.boolean().describe('true: begin the hold. false: end it, and carry out the removals that waited.'),
    }),
    examples: { 'Begin the hold': { active: true }, 'End the hold': { active: false } },
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
    summary: 'Choose which roles may see mail contents',
    description:
      'Analysts and auditors cannot see addresses, subjects and bodies of mail unless an owner allows it here. Only owners ' +
      'can call this, not API keys. The change applies to open sessions and event streams within a second, and is recorded.',
    body: z.strictObject({
      allowed_to: z
        .array(maskedRoleSchema)
        .max(MASKED_ROLES.length)
        .describe('All roles that may see mail contents. Other roles may not.'),
    }),
    examples: { 'Allow analysts': { allowed_to: ['analyst'] }, 'Allow no role (default)': { allowed_to: [] } },
    answer: organizationSchema,
  },
  async ({ origin, body, request, reply }, { deps, auth }) => {
    const changed = await setContentsRoles(deps.context, origin, { roles: body.allowed_to, ...ifMatch(request) });
    await auth.keyCache.catchUp(); // what members see is decided there
    setRevision(reply, changed.revision);
    return serializeOrganization(changed);
  },
);
