import { z } from 'zod';

export const SUPPRESSION_REASONS = ['bounce', 'complaint', 'unsubscribe', 'manual', 'import'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** Which messages it keeps back: `all`, those of one `stream`, or those of one topic. */
export const SUPPRESSION_SCOPES = ['all', 'transactional', 'bulk', 'topic'] as const;
export type SuppressionScope = (typeof SUPPRESSION_SCOPES)[number];

/** The event of a message that an entry follows from. */
const source = z.object({
  messageId: z.string(),
  recipientId: z.string(),
  /** Of the log's own event; null: the recipient said so to this service, by a link of the message. */
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
    /** null: never. */
    expiresAt: z.string().nullable(),
    /** null: somebody said so. */
    source: source.nullable(),
  }),
  /** Whatever was in force is so no more; what spoke for it stays on record. */
  SuppressionRemoved: z.object({
    suppressionId: z.string(),
    /** That of the latest entry: the address is there. */
    contentId: z.string(),
  }),
  /** The owner of the address takes back an own unsubscription, or asks for a topic. Nothing else is forgotten. */
  AddressResubscribed: z.object({
    suppressionId: z.string(),
    digest: z.string(),
    /** Vault id of the address. */
    contentId: z.string(),
    /** null: to all but topics that were refused by themselves. */
    topicId: z.string().nullable(),
    /** null: the sender has recorded it for them. */
    source: source.nullable(),
  }),
};
