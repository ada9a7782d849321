import { z } from 'zod';
import { BOUNCE_CATEGORIES } from '../bounce/categories.ts';
import { REPLY_STAGES, TLS_POLICIES } from '../ports/mail-transport.ts';
import { TOPIC_DEFAULTS } from '../topic/events.ts';
import { CLIENT_FAMILIES, MACHINE_REASONS, NETWORK_KINDS } from '../tracking/client.ts';

const recipientKind = z.enum(['to', 'cc', 'bcc']);
export type RecipientKind = z.infer<typeof recipientKind>;

/** The reply of the other server; its text is in the vault's contents under `replyId`. */
const smtpFacts = z.object({
  /** Reply code (RFC 5321 §4.2), 0 where none was received. */
  code: z.number().int(),
  /** Enhanced status code (RFC 3463), `5.1.1`. */
  enhanced: z.string().nullable(),
  /** Host that answered. */
  mx: z.string().nullable(),
  /** TLS version, `TLSv1.3`; null: in clear. */
  tls: z.string().nullable(),
  /** `TLS_AES_256_GCM_SHA384`. */
  cipher: z.string().nullable().optional(),
  /** What the use of TLS was held to. */
  policy: z.enum(TLS_POLICIES).nullable().optional(),
  /** IP of the host that answered. */
  address: z.string().nullable().optional(),
  /** Where in the session it was said. */
  stage: z.enum(REPLY_STAGES).optional(),
  replyId: z.string().nullable(),
  /** Root over that content, base64; absent: it is bound to no event. */
  replyRoot: z.string().optional(),
});
export type SmtpFacts = z.infer<typeof smtpFacts>;

/** In every message event. */
const about = {
  messageId: z.string(),
  /** Vault id of the contents. */
  contentId: z.string(),
  /** Number of the first customer event this event makes, counted within the message from 1. */
  sequence: z.number().int(),
};
const attempted = { ...about, recipientId: z.string(), attempt: z.number().int(), smtp: smtpFacts };
/** The category of the reply; absent if nothing was replied that could be classified. */
const category = z.enum(BOUNCE_CATEGORIES).optional();
/**
 * Reports that any of several recipients of one copy could have written were recorded so by earlier versions: they suppress
 * nobody. Now they are `RecipientReportNoted`.
 */
const shared = z.literal(true).optional();
const ended = { ...about, recipientId: z.string(), reason: z.string() };

/** What a recipient did with a copy, or a machine before them. */
const engaged = {
  ...about,
  recipientId: z.string(),
  /** The first of its kind: of people, or of machines. */
  first: z.literal(true).optional(),
  count: z.number().int().min(1),
  /** It was a machine, and why it is taken for one; absent: a person. */
  machine: z.enum(MACHINE_REASONS).optional(),
  client: z.enum(CLIENT_FAMILIES),
  network: z.enum(NETWORK_KINDS),
};

const schedule = {
  ...about,
  recipientIds: z.array(z.string()),
  scheduledAt: z.string(),
  /** When they expire if undelivered: the time to live runs from `scheduledAt`. */
  expiresAt: z.string(),
};

/** Why recipients are kept back though nothing else is in the way. */
export const HOLD_REASONS = [
  'domain_slowed',
  'domain_paused',
  'organization_slowed',
  'organization_paused',
  'bulk_mail_paused',
  'warm_up',
  'organization_suspended',
] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

/**
 * Why a report changes nothing: any of several recipients of one copy could have written it, or it is about an address
 * behind the recipient's, which may be an alias or a list with members that got the mail.
 */
export const REPORT_DOUBTS = ['unconfirmed', 'address_behind'] as const;
export type ReportDoubt = (typeof REPORT_DOUBTS)[number];

export const messageEvents = {
  MessageAccepted: z.object({
    ...about,
    domainId: z.string(),
    keyId: z.string(),
    /** RFC 5322 Message-ID, with its angle brackets; the same on every attempt. */
    internetMessageId: z.string(),
    /** Keyed digest of the request body before defaults. */
    bodyDigest: z.string(),
    /** It came with an `Idempotency-Key`: the message's id follows from it. */
    idempotent: z.boolean(),
    /** Keyed digest of the sender's address. */
    fromDigest: z.string(),
    fromDomain: z.string(),
    recipients: z.array(
      z.object({
        id: z.string(),
        kind: recipientKind,
        /** A-labels, lower case. */
        domain: z.string(),
        /** Keyed digest of the address. */
        digest: z.string(),
      }),
    ),
    tagDigests: z.array(z.string()),
    /** Keyed digest of the subject. */
    subjectDigest: z.string(),
    /** Keyed digests of metadata by name and value. */
    metadataDigests: z.array(z.string()),
    stream: z.enum(['transactional', 'bulk']),
    /** What subject and bodies were rendered from; absent: nothing. */
    template: z.object({ templateId: z.string(), version: z.number().int().min(1) }).optional(),
    /**
     * A template that is tried, or a notice of this service: neither billed nor counted in statistics, warm-up quotas or
     * sender reputation.
     */
    trial: z.literal(true).optional(),
    /** What it is about, where recipients can refuse that by itself. `out`: it goes only to those who opted in. */
    topic: z.object({ id: z.string(), default: z.enum(TOPIC_DEFAULTS) }).optional(),
    /** Bytes of the bodies and decoded attachments. */
    sizeBytes: z.number().int(),
    /** When undelivered recipients expire. */
    expiresAt: z.string(),
    /** What of its html is tracked; absent: nothing. */
    tracking: z.object({ opens: z.boolean(), clicks: z.boolean() }).optional(),
    /** Root over the salted parts of the content, base64; absent: its parts have no salts. */
    contentRoot: z.string().optional(),
  }),
  /** In the same append as `MessageAccepted`: not to be sent before `scheduledAt`. */
  MessageScheduled: z.object(schedule),
  /** Another time for recipients that still wait for theirs. */
  MessageRescheduled: z.object(schedule),
  /** No attempt was made: earlier outcomes stay as they are. */
  RecipientsHeld: z.object({
    ...about,
    recipientIds: z.array(z.string()),
    reason: z.enum(HOLD_REASONS),
    /**
     * Holder whose release ends it before `until`: a domain or organization by its reputation, the stream of a warm-up, or that
     * of a suspended organization; null: only time does.
     */
    heldBy: z.string().nullable(),
    /** When the hold is checked again, whatever happens. */
    until: z.string(),
    /** When the message expires from now on; absent: when it did before. */
    expiresAt: z.string().optional(),
  }),
  /** The claim: only the worker that appended it, at the revision it read, sends until the lease ends. */
  AttemptStarted: z.object({
    ...about,
    attempt: z.number().int(),
    recipientIds: z.array(z.string()),
    leaseUntil: z.string(),
  }),
  /** The lease ended without an outcome: a copy may or may not have arrived. */
  AttemptOutcomeUnknown: z.object({
    ...about,
    attempt: z.number().int(),
    recipientIds: z.array(z.string()),
    nextAttemptAt: z.string(),
  }),
  RecipientDelivered: z.object(attempted),
  RecipientDeferred: z.object({ ...attempted, nextAttemptAt: z.string(), reason: z.string(), category }),
  RecipientBounced: z.object({
    ...attempted,
    reason: z.string(),
    category,
    /** It had been reported as delivered before. */
    late: z.literal(true).optional(),
    shared,
  }),
  RecipientExpired: z.object(ended),
  RecipientFailed: z.object(ended),
  RecipientSuppressed: z.object(ended),
  /** Cancelled by its sender before it was sent. */
  RecipientCancelled: z.object(ended),
  /** Its image was loaded, once or more often within a minute. */
  RecipientOpened: z.object(engaged),
  /** A link of it was followed, once or more often within a minute. */
  RecipientClicked: z.object({
    ...engaged,
    /** Place among the tracked links of the message, from 0. */
    link: z.number().int(),
    /** Vault id of its address. */
    linkId: z.string(),
  }),
  RecipientComplained: z.object({ ...about, recipientId: z.string(), shared }),
  /** A report that leaves the recipient as it is. The first of each kind is recorded. */
  RecipientReportNoted: z.object({
    ...about,
    recipientId: z.string(),
    report: z.enum(['failure', 'complaint']),
    doubt: z.enum(REPORT_DOUBTS),
    /** The kind of failure. */
    smtp: smtpFacts.optional(),
    category,
  }),
  /** The recipient wants no more of it: `one_click` (RFC 8058), on the page of the link, or by a mail (RFC 2369 §3.2). */
  RecipientUnsubscribed: z.object({
    ...about,
    recipientId: z.string(),
    method: z.enum(['one_click', 'page', 'mail']),
    /** Only this is not wanted; absent: no mail like it. */
    topicId: z.string().optional(),
  }),
};
