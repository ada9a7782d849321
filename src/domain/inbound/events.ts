import { z } from 'zod';

/** Outcomes of a check by SPF, DKIM, DMARC or ARC (RFC 8601 §2.7). `temperror`: the DNS did not answer in time. */
export const VERDICTS = ['pass', 'fail', 'softfail', 'neutral', 'none', 'policy', 'temperror', 'permerror'] as const;
const verdict = z.enum(VERDICTS);
export type Verdict = z.infer<typeof verdict>;

const verdicts = z.object({ spf: verdict, dkim: verdict, dmarc: verdict, arc: verdict });
export type Verdicts = Readonly<z.infer<typeof verdicts>>;

/** Fate of an accepted message. */
export const INBOUND_ACTIONS = ['webhook', 'store'] as const;

export const inboundEvents = {
  /** One recipient's copy of a received mail. Addresses, header fields and bodies are in the vault. */
  InboundReceived: z.object({
    inboundId: z.string(),
    domainId: z.string(),
    /** Vault id of what was read from the mail. */
    contentId: z.string(),
    /** Vault id of the mail as it was received. */
    rawId: z.string(),
    bytes: z.number().int(),
    /** Hash of the received bytes, hex. */
    sha256: z.string(),
    /** Keyed digest of the recipient's address. */
    toDigest: z.string(),
    /** Keyed digests of the return path and of the `From` addresses, without duplicates. */
    fromDigests: z.array(z.string()),
    verdicts,
    /** Null if no route matched. */
    routeId: z.string().nullable(),
    action: z.enum(INBOUND_ACTIONS),
    /** The only webhook that is notified; null: all that subscribe. */
    webhookId: z.string().nullable(),
    /** Message of this service that it answers. */
    inReplyToMessageId: z.string().nullable(),
    /** DMARC failed, and the organization marks such mail. */
    isMarked: z.literal(true).optional(),
    /** A machine wrote it (RFC 3834), or it is mail of this service that came back: programs must not answer it. */
    isAutomatic: z.literal(true).optional(),
  }),
};
