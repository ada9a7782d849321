import { z } from 'zod';

export const SUPPRESSION_REASONS = ['bounce', 'complaint', 'unsubscribe', 'manual', 'import'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** Which messages it keeps back: `all`, or those of one `stream`. */
export const SUPPRESSION_SCOPES = ['all', 'transactional', 'bulk'] as const;
export type SuppressionScope = (typeof SUPPRESSION_SCOPES)[number];

/** The event of a message that an entry follows from. */
const source = z.object({
  messageId: z.string(),
  recipientId: z.string(),
  /** Of the log's own event. */
  eventId: z.string(),
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
};
