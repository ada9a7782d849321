import { z } from 'zod';
import { customerSchema } from '../billing/parties.ts';
import { planSchema } from '../billing/plan.ts';
import { rateLimitsSchema } from '../kernel/rate-limits.ts';
import { maskedRoleSchema } from '../member/events.ts';

/** Use of a message's analysis: none, a warning, or rejection of messages with errors. */
export const ANALYSIS_POLICIES = ['off', 'warn', 'block'] as const;

/** `strict`: accepts only valid HTML. `browser`: accepts whatever a browser can show, unchanged. */
export const HTML_RULES = ['strict', 'browser'] as const;
export type HtmlRule = (typeof HTML_RULES)[number];

const htmlRule = z.enum(HTML_RULES);
/** HTML rule for each entry through which messages arrive. */
const htmlValidation = z.object({ api: htmlRule, compat: htmlRule, smtp: htmlRule });
export type HtmlEntry = keyof z.output<typeof htmlValidation>;

/** Treatment of inbound mail that fails DMARC. `refuse` applies if the sender's domain asks for more than reports. */
export const INBOUND_DMARC_POLICIES = ['accept', 'mark', 'refuse'] as const;

/** Higher: keeps personal data longer than needed. */
export const CONTENT_DAYS_MAX = 365;

/** Permitted settings of member sessions. The maxima apply in any case: 12 hours without a request, 7 days in total. */
export const SESSION_IDLE_MINUTES = { min: 5, max: 12 * 60 } as const;
export const SESSION_HOURS = { min: 1, max: 7 * 24 } as const;

const settings = z.object({
  name: z.string(),
  /** Id of the content with the contact's address; null if there is no contact. */
  contactId: z.string().nullable(),
  /** Retention of message contents in days; 0: until no delivery needs them. */
  contentDays: z.number().int().min(0).max(CONTENT_DAYS_MAX),
  /** Default for sends that name no policy. */
  analysis: z.enum(ANALYSIS_POLICIES),
  htmlValidation,
  inboundDmarc: z.enum(INBOUND_DMARC_POLICIES),
  /** Time zone by its IANA name. */
  timezone: z.string(),
  /** Idle time after which a member's session expires. */
  sessionIdleMinutes: z.number().int().min(SESSION_IDLE_MINUTES.min).max(SESSION_IDLE_MINUTES.max),
  /** Lifetime of a member's session, however often it is used. */
  sessionHours: z.number().int().min(SESSION_HOURS.min).max(SESSION_HOURS.max),
  /** Name and address on invoices; null: not set. */
  customer: customerSchema.nullable(),
});

/** Settings that an organization chooses. */
export type OrganizationSettings = Readonly<z.output<typeof settings>>;

/** The organization's secret (keyed digests, idempotent message ids) is in the vault under the organization's id. */
export const organizationEvents = {
  OrganizationCreated: z.object({
    organizationId: z.string(),
    name: z.string(),
    /** Highest rate limits that an admin key may set; null: none. */
    ceilings: rateLimitsSchema.nullable(),
  }),
  OrganizationCeilingsSet: z.object({ organizationId: z.string(), ceilings: rateLimitsSchema.nullable() }),
  /** Absent fields are unchanged. */
  OrganizationUpdated: z.object({ organizationId: z.string(), ...settings.partial().shape }),
  /**
   * While a hold is active, nothing of the organization is removed from the vault, neither by age nor by an erasure.
   */
  LegalHoldSet: z.object({ organizationId: z.string(), active: z.boolean() }),
  /** The operator suspended sending: new sends are rejected, and messages accepted earlier are held. */
  OrganizationSuspended: z.object({ organizationId: z.string(), reason: z.string() }),
  /** Sending resumes, and held messages continue. */
  OrganizationResumed: z.object({ organizationId: z.string(), reason: z.string() }),
  /** Members of these masked roles can see contents of mail from now on. Members of the other masked roles cannot. */
  ContentsRolesSet: z.object({ organizationId: z.string(), roles: z.array(maskedRoleSchema) }),
  /** Applies from the start of that day (UTC). The terms stay as recorded here. */
  /** @property from the first day (UTC) on which the plan applies. Absent in events of earlier versions: the day of the event. */
  PlanChosen: z.object({ organizationId: z.string(), plan: planSchema, from: z.iso.date().optional() }),
  /**
   * These keys are about to stop being working admin keys, so other removals must not rely on them. The event precedes
   * the change itself, so that concurrent removals of the last two admin keys conflict in this stream.
   */
  AdminKeysReleased: z.object({
    organizationId: z.string(),
    /** Each key at the revision that is about to change. The release does not apply to later revisions. */
    keys: z.array(z.object({ keyId: z.string(), revision: z.number().int() })),
    /**
     * Domain whose keys are all released, including unknown ones, at the revision that is about to end it; null if only
     * the keys above are released.
     */
    domain: z.object({ domainId: z.string(), revision: z.number().int() }).nullable(),
  }),
};
