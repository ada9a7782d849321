import { z } from 'zod';

/** Grounds of GDPR Art. 17(1), in their order; `requested`: none was named. A text of its own could name the person. */
export const ERASURE_REASONS = [
  'requested',
  'no_longer_needed',
  'consent_withdrawn',
  'objection',
  'unlawful',
  'legal_obligation',
] as const;

/** What was removed, by kind. */
const erasureCounts = z.object({
  messages: z.number().int(),
  replies: z.number().int(),
  links: z.number().int(),
  suppressionEvidence: z.number().int(),
  webhookTries: z.number().int(),
  capturedMail: z.number().int(),
  /** Addresses that the organization or an auditor was written to. Absent: none. */
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
  /** The intent. The address is nowhere: its digest finds all that is to go. */
  ErasureRequested: z.object({
    erasureId: z.string(),
    /** Keyed digest of the address, as in `MessageAccepted`. */
    digest: z.string(),
    reason: z.enum(ERASURE_REASONS),
    /** The address is put on the list of suppressions, as a digest. */
    suppress: z.boolean(),
  }),
  /** Nothing is left. */
  PersonErased: z.object({ erasureId: z.string(), digest: z.string(), counts: erasureCounts }),
};
