import { z } from 'zod';
import { BOUNCE_CATEGORIES } from '../bounce/categories.ts';
import { REPLY_STAGES, TLS_POLICIES } from '../ports/mail.ts';
import { TOPIC_DEFAULTS } from '../topic/topic.ts';
import { CLIENT_FAMILIES, MACHINE_REASONS, NETWORK_KINDS } from '../tracking/tracking.ts';

export const UNSUBSCRIBE_METHODS = ['one_click', 'page', 'mail'] as const;
export type UnsubscribeMethod = (typeof UNSUBSCRIBE_METHODS)[number];

const recipientKind = z.enum(['to', 'cc', 'bcc']);
export type RecipientKind = z.infer<typeof recipientKind>;

/** Reply of the remote server. Its text is in the vault under `replyId`. */
export const smtpFacts = z.object({
  /** Reply code (RFC 5321 §4.2); 0 if none was received. */
  code: z.number().int(),
  /** Enhanced status code (RFC 3463), such as `5.1.1`. */
  enhanced: z.string().nullable(),
  /** Host that replied. */
  mx: z.string().nullable(),
  /** TLS version, such as `TLSv1.3`; null without TLS. */
  tls: z.string().nullable(),
  /** Cipher suite, such as `TLS_AES_256_GCM_SHA384`. */
  cipher: z.string().nullable().optional(),
  /** Policy that governed the use of TLS. */
  policy: z.enum(TLS_POLICIES).nullable().optional(),
  /** IP address of the host that replied. */
  address: z.string().nullable().optional(),
  /** IP address of this service that the session came from. Absent: the machine chose. */
  source: z.string().optional(),
  /** Stage of the session at which the reply came. */
  stage: z.enum(REPLY_STAGES).optional(),
  replyId: z.string().nullable(),
  /** Root over the reply's content, base64. Absent: no event is bound to it. */
  replyRoot: z.string().optional(),
});
export type SmtpFacts = z.infer<typeof smtpFacts>;

/** Fields of every message event. */
const about = {
  messageId: z.string(),
  /** Vault id of the content. */
  contentId: z.string(),
  /** Number of the first customer event that this event produces, counted within the message from 1. */
  sequence: z.number().int(),
};
const attempted = { ...about, recipientId: z.string(), attempt: z.number().int(), smtp: smtpFacts };
/** Category of the reply. Absent if there was no reply that could be classified. */
const category = z.enum(BOUNCE_CATEGORIES).optional();
/**
 * Marks a report that any of several recipients of one copy could have caused; it suppresses none of them. Written by
 * earlier versions only: such reports are now `RecipientReportNoted`.
 */
const shared = z.literal(true).optional();
const ended = { ...about, recipientId: z.string(), reason: z.string() };

/** Opens and clicks by a recipient, or by a machine before them. */
const engaged = {
  ...about,
  recipientId: z.string(),
  /** Present for the first event of its kind, by people or by machines. */
  first: z.literal(true).optional(),
  count: z.number().int().min(1),
  /** Reason for classifying the client as a machine. Absent: a person. */
  machine: z.enum(MACHINE_REASONS).optional(),
  client: z.enum(CLIENT_FAMILIES),
  network: z.enum(NETWORK_KINDS),
};

const schedule = {
  ...about,
  recipientIds: z.array(z.string()),
  scheduledAt: z.string(),
  /** Expiry of undelivered recipients: the time to live runs from `scheduledAt`. */
  expiresAt: z.string(),
};

/** Stands for the API key in notices of this service, which are not billed. No key can have this id. */
export const SERVICE_SENDER = 'service';

/** Reasons to hold recipients that could otherwise be sent to. */
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
 * Reasons why a report has no effect: any of several recipients of one copy could have caused it, or it concerns an
 * address behind the recipient's, which may be an alias or a mailing list with members that got the mail.
 */
export const REPORT_DOUBTS = ['unconfirmed', 'address_behind'] as const;
export type ReportDoubt = (typeof REPORT_DOUBTS)[number];

export const messageEvents = {
  MessageAccepted: z.object({
    ...about,
    domainId: z.string(),
    /** API key, or `SERVICE_SENDER`. */
    keyId: z.string(),
    /** Message-ID (RFC 5322) with its angle brackets. The same on every attempt. */
    internetMessageId: z.string(),
    /** Keyed digest of the request body before defaults were applied. */
    bodyDigest: z.string(),
    /** True if the request had an `Idempotency-Key`, from which the message's id is derived. */
    idempotent: z.boolean(),
    /** Keyed digest of the sender's address. */
    fromDigest: z.string(),
    fromDomain: z.string(),
    recipients: z.array(
      z.object({
        id: z.string(),
        kind: recipientKind,
        /** Domain in A-labels, lower case. */
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
    /** Template from which subject and bodies were rendered. Absent: none. */
    template: z.object({ templateId: z.string(), version: z.number().int().min(1) }).optional(),
    /** A test send of a template, or a notice of this service: not counted in statistics, warm-up quotas or reputation. */
    trial: z.literal(true).optional(),
    /** Topic that recipients can unsubscribe from separately. `out`: sent only to those who opted in. */
    topic: z.object({ id: z.string(), default: z.enum(TOPIC_DEFAULTS) }).optional(),
    /** Size of the bodies and decoded attachments in bytes. */
    sizeBytes: z.number().int(),
    /** Expiry of undelivered recipients. */
    expiresAt: z.string(),
    /** Tracking of its HTML. Absent: none. */
    tracking: z.object({ opens: z.boolean(), clicks: z.boolean() }).optional(),
    /** Root over the salted parts of the content, base64. Absent: its parts have no salts. */
    contentRoot: z.string().optional(),
    /** Id of the message whose content is sent again to recipients that it did not reach. Absent: a message of its own. */
    resendOf: z.string().optional(),
  }),
  /** Delays sending until `scheduledAt`. Appended together with `MessageAccepted`. */
  MessageScheduled: z.object(schedule),
  /** Reschedules recipients that have not reached their time yet. */
  MessageRescheduled: z.object(schedule),
  /** The recipients wait without an attempt. Earlier outcomes are unchanged. */
  RecipientsHeld: z.object({
    ...about,
    recipientIds: z.array(z.string()),
    reason: z.enum(HOLD_REASONS),
    /**
     * Holder whose release ends the hold before `until`: a domain or organization by its reputation, the stream of a
     * warm-up, or that of a suspended organization. Null if only time ends it.
     */
    heldBy: z.string().nullable(),
    /** Time at which the hold is checked again in any case. */
    until: z.string(),
    /** New expiry of the message. Absent: unchanged. */
    expiresAt: z.string().optional(),
  }),
  /** A claim: until the lease ends, only the worker that appended this event at the revision it had read may send. */
  AttemptStarted: z.object({
    ...about,
    attempt: z.number().int(),
    recipientIds: z.array(z.string()),
    leaseUntil: z.string(),
  }),
  /** The lease ended without an outcome. A copy may or may not have arrived. */
  AttemptOutcomeUnknown: z.object({
    ...about,
    attempt: z.number().int(),
    recipientIds: z.array(z.string()),
    nextAttemptAt: z.string(),
  }),
  RecipientDelivered: z.object(attempted),
  RecipientDeferred: z.object({
    ...attempted,
    nextAttemptAt: z.string(),
    reason: z.string(),
    category,
    /** Present if this service was to blame. Earlier versions recorded such an attempt without a reply. */
    ownFault: z.literal(true).optional(),
  }),
  RecipientBounced: z.object({
    ...attempted,
    reason: z.string(),
    category,
    /** Present if it had been reported as delivered. */
    late: z.literal(true).optional(),
    shared,
  }),
  /** The time to live ended, and this service was not to blame for the last attempt. */
  RecipientExpired: z.object(ended),
  /** This service was to blame. Earlier versions also recorded it when the sending domain was deleted. */
  RecipientFailed: z.object(ended),
  RecipientSuppressed: z.object(ended),
  /** Cancelled before it was sent, by the sender or because its domain was deleted. The actor did either. */
  RecipientCancelled: z.object(ended),
  /** The tracking image was loaded, once or several times within a minute. */
  RecipientOpened: z.object(engaged),
  /** A link was followed, once or several times within a minute. */
  RecipientClicked: z.object({
    ...engaged,
    /** Index among the tracked links of the message, from 0. */
    link: z.number().int(),
    /** Vault id of the link's URL. */
    linkId: z.string(),
  }),
  /**
   * A new message is sent to recipients that this one did not reach. Recorded before the new message is accepted, so that
   * two requests do not send twice. If the new message is missing, a repeat of the request accepts it.
   */
  RecipientsResent: z.object({
    ...about,
    recipientIds: z.array(z.string()),
    /** Id of the new message. */
    resentAs: z.string(),
  }),
  RecipientComplained: z.object({
    ...about,
    recipientId: z.string(),
    shared,
    /** IP address of this service that sent the copy. Absent: the machine chose. */
    source: z.string().optional(),
  }),
  /** A report that does not change the recipient. Only the first of each kind is recorded. */
  RecipientReportNoted: z.object({
    ...about,
    recipientId: z.string(),
    report: z.enum(['failure', 'complaint']),
    doubt: z.enum(REPORT_DOUBTS),
    /** Reply that describes the failure. */
    smtp: smtpFacts.optional(),
    category,
  }),
  /** The recipient unsubscribed: `one_click` (RFC 8058), on the page of the link, or by mail (RFC 2369 §3.2). */
  RecipientUnsubscribed: z.object({
    ...about,
    recipientId: z.string(),
    method: z.enum(UNSUBSCRIBE_METHODS),
    /** Topic that the recipient left. Absent: all mail like this message. */
    topicId: z.string().optional(),
  }),
};
