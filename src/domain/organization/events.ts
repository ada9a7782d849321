import { z } from 'zod';
import { planSchema } from '../billing/plan.ts';
import { maskedRoleSchema } from '../member/events.ts';
import { rateLimitsSchema } from '../rate-limits.ts';

/** What an analysis of a message is for: nothing, to be told, or to refuse a message with errors. */
export const ANALYSIS_POLICIES = ['off', 'warn', 'block'] as const;

/** `strict`: valid html alone is accepted. `browser`: whatever a browser shows, unchanged. */
export const HTML_RULES = ['strict', 'browser'] as const;
export type HtmlRule = (typeof HTML_RULES)[number];

const htmlRule = z.enum(HTML_RULES);
/** By the entry that a message came through. */
const htmlValidation = z.object({ api: htmlRule, compat: htmlRule, smtp: htmlRule });
export type HtmlEntry = keyof z.output<typeof htmlValidation>;

/** Longer than a year would keep personal data that nobody asks for any more. */
export const CONTENT_DAYS_MAX = 365;

/** Of a session of a member; after 12 hours without a request, and after 7 days, it is over anyway. */
export const SESSION_IDLE_MINUTES = { min: 5, max: 12 * 60 } as const;
export const SESSION_HOURS = { min: 1, max: 7 * 24 } as const;

const settings = z.object({
  name: z.string(),
  /** The content that holds the contact's address; null: there is no contact. */
  contactId: z.string().nullable(),
  /** How long the contents of messages stay; 0: until no delivery needs them. */
  contentDays: z.number().int().min(0).max(CONTENT_DAYS_MAX),
  /** Of sends that name none. */
  analysis: z.enum(ANALYSIS_POLICIES),
  htmlValidation,
  /** IANA name. */
  timezone: z.string(),
  /** After this long without a request a session of a member is over. */
  sessionIdleMinutes: z.number().int().min(SESSION_IDLE_MINUTES.min).max(SESSION_IDLE_MINUTES.max),
  /** After this long it is over however often it is used. */
  sessionHours: z.number().int().min(SESSION_HOURS.min).max(SESSION_HOURS.max),
});

/** What an organization decides for itself. */
export type OrganizationSettings = Readonly<z.output<typeof settings>>;

/** The organization's secret (keyed digests, idempotent message ids) is in the vault under the organization's id. */
export const organizationEvents = {
  OrganizationCreated: z.object({
    organizationId: z.string(),
    name: z.string(),
    /** Highest rate limits an admin key may set; null: none. */
    ceilings: rateLimitsSchema.nullable(),
  }),
  OrganizationCeilingsSet: z.object({ organizationId: z.string(), ceilings: rateLimitsSchema.nullable() }),
  /** What is absent stays as it is. */
  OrganizationUpdated: z.object({ organizationId: z.string(), ...settings.partial().shape }),
  /** While it is active nothing of the organization is removed from the vault: neither by its age nor by an erasure. */
  LegalHoldSet: z.object({ organizationId: z.string(), active: z.boolean() }),
  /** The operator has stopped its sends: none is accepted, and what was accepted before is held. */
  OrganizationSuspended: z.object({ organizationId: z.string(), reason: z.string() }),
  /** It sends again, and what was held goes on. */
  OrganizationResumed: z.object({ organizationId: z.string(), reason: z.string() }),
  /** Members of these roles see contents of mail from now on, those of the other masked roles do not. */
  ContentsRolesSet: z.object({ organizationId: z.string(), roles: z.array(maskedRoleSchema) }),
  /** From the start of that day (UTC) on; the terms stay as they are here. */
  PlanChosen: z.object({ organizationId: z.string(), plan: planSchema }),
  /**
   * These keys are about to lose what makes them admin keys that work: nobody counts on them any more. Appended before
   * the change itself, so that two who take away the last two admin keys at the same moment meet in this stream.
   */
  AdminKeysReleased: z.object({
    organizationId: z.string(),
    /** Each at the revision that is about to change; a later one is a new matter. */
    keys: z.array(z.object({ keyId: z.string(), revision: z.number().int() })),
    /**
     * Whose keys are all released, those too that nobody knew of, at the revision that is about to end it; null: it is
     * about these keys alone.
     */
    domain: z.object({ domainId: z.string(), revision: z.number().int() }).nullable(),
  }),
};
