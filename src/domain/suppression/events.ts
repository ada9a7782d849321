import { z } from 'zod';

export const SUPPRESSION_REASONS = ['bounce', 'complaint', 'unsubscribe', 'manual', 'import'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** Messages that it blocks: `all`, those of one message class (`stream`), or those of one topic. */
export const SUPPRESSION_SCOPES = ['all', 'transactional', 'bulk', 'topic'] as const;
export type SuppressionScope = (typeof SUPPRESSION_SCOPES)[number];

/** The message event that caused an entry. */
const source = z.object({
  messageId: z.string(),
  recipientId: z.string(),
  /** Id of the log event; null if the recipient told this service through a link of the message. */
  eventId: z.string().nullable(),
});

export const suppressionEvents = {
  SuppressionAdded: z.object({
    suppressionId: z.string(),
    /** Keyed digest of the address, as in `MessageAccepted`. */
    digest: z.string(),
    /** Vault id of the address and the evidence. */
    contentId: z.string(),
    reason: z.enum(SUPPRESSION_REASONS),
    scope: z.enum(SUPPRESSION_SCOPES),
    /** Present with scope `topic`. */
    topicId: z.string().optional(),
    /** Null if it never expires. */
    expiresAt: z.string().nullable(),
    /** Null if a person added it. */
    source: source.nullable(),
  }),
  /** All entries in force were removed. The evidence stays on record. */
  SuppressionRemoved: z.object({
    suppressionId: z.string(),
    /** Content of the latest entry, which holds the address. */
    contentId: z.string(),
  }),
  /** The owner of the address reverses their own unsubscription, or subscribes to a topic. Nothing else is reversed. */
  AddressResubscribed: z.object({
    suppressionId: z.string(),
    digest: z.string(),
    /** Vault id of the address. */
    contentId: z.string(),
    /** Null for all mail except topics that were unsubscribed from separately. */
    topicId: z.string().nullable(),
    /** Null if the sender recorded it on the owner's behalf. */
    source: source.nullable(),
  }),
};
