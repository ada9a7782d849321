import { z } from 'zod';
import { smtpFacts } from '../message/events.ts';

/** Outcomes of a check by SPF, DKIM, DMARC or ARC (RFC 8601 §2.7). `temperror`: the DNS did not answer in time. */
export const VERDICTS = ['pass', 'fail', 'softfail', 'neutral', 'none', 'policy', 'temperror', 'permerror'] as const;
const verdict = z.enum(VERDICTS);
export type Verdict = z.infer<typeof verdict>;

const verdicts = z.object({ spf: verdict, dkim: verdict, dmarc: verdict, arc: verdict });
export type Verdicts = Readonly<z.infer<typeof verdicts>>;

/** Fate of an accepted message. */
export const INBOUND_ACTIONS = ['webhook', 'store', 'forward'] as const;

/** Reasons for which a message is not forwarded, or no more. */
export const FORWARD_FAILURES = [
  'not_confirmed',
  /** The route was deleted, or has another action. */
  'route_changed',
  /** The address that it is forwarded to was erased. */
  'address_erased',
  'suppressed',
  'domain_removed',
  'organization_suspended',
  'automatic',
  /** This service has forwarded it before, or it names this service as its sender. */
  'loop',
  'dmarc_failed',
  /** Bare line ends, which other servers could read as the end of the message. */
  'malformed',
  'content_removed',
  'rate_limited',
  /** The receiving server refused it for good. */
  'rejected',
  /** Every attempt was deferred. */
  'expired',
  /** A server that had accepted it reported that it could not be delivered. */
  'bounced',
] as const;
export type ForwardFailure = (typeof FORWARD_FAILURES)[number];

/** `unknown`: no reply to the whole message, which may have arrived. */
export const FORWARD_DEFERRALS = ['deferred', 'unknown', 'fault'] as const;
export type ForwardDeferral = (typeof FORWARD_DEFERRALS)[number];

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
  /** The claim of an attempt to forward it. Without an outcome, another attempt follows when the lease ends. */
  InboundForwardStarted: z.object({
    inboundId: z.string(),
    attempt: z.number().int(),
    /** ISO 8601. */
    leaseUntil: z.string(),
  }),
  InboundForwardDeferred: z.object({
    inboundId: z.string(),
    attempt: z.number().int(),
    reason: z.enum(FORWARD_DEFERRALS),
    nextAttemptAt: z.string(),
    /** Null: no server was asked. */
    smtp: smtpFacts.nullable(),
  }),
  /** A server has accepted it. */
  InboundForwarded: z.object({
    inboundId: z.string(),
    domainId: z.string(),
    attempt: z.number().int(),
    smtp: smtpFacts,
  }),
  InboundForwardFailed: z.object({
    inboundId: z.string(),
    domainId: z.string(),
    reason: z.enum(FORWARD_FAILURES),
    /** Null: no server has replied. */
    smtp: smtpFacts.nullable(),
  }),
};
