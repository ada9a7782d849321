import { z } from 'zod';

/** Grounds of GDPR Art. 17(1), in their order; `requested` if none was named. Free text could identify the person. */
export const ERASURE_REASONS = [
  'requested',
  'no_longer_needed',
  'consent_withdrawn',
  'objection',
  'unlawful',
  'legal_obligation',
] as const;

/** Number of removed items, by kind. */
const erasureCounts = z.object({
  messages: z.number().int(),
  replies: z.number().int(),
  links: z.number().int(),
  suppressionEvidence: z.number().int(),
  webhookTries: z.number().int(),
  capturedMail: z.number().int(),
  /** Contact addresses of the organization and its auditors. Absent: none. */
  contacts: z.number().int().optional(),
});
export type ErasureCounts = Readonly<z.infer<typeof erasureCounts>>;

export const ERASURE_COUNTS_NONE: ErasureCounts = {
  messages: 0,
  replies: 0,
  links: 0,
  suppressionEvidence: 0,
  webhookTries: 0,
  capturedMail: 0,
  contacts: 0,
};

export const erasureEvents = {
  /** The request. It does not contain the address: the digest finds everything that must be removed. */
  ErasureRequested: z.object({
    erasureId: z.string(),
    /** Keyed digest of the address, as in `MessageAccepted`. */
    digest: z.string(),
    reason: z.enum(ERASURE_REASONS),
    /** Whether the address is added to the suppression list, as a digest. */
    suppress: z.boolean(),
  }),
  /** Everything was removed. */
  PersonErased: z.object({ erasureId: z.string(), digest: z.string(), counts: erasureCounts }),
};
