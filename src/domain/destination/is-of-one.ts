import type { SmtpFacts } from '../message/events.ts';

/**
 * RFC 3463 §3.3: status of one mailbox, as Gmail's 4.2.1 "receiving mail too quickly"; §3.6, X.5.3: too many recipients of
 * one transaction.
 */
const OF_ONE = /^[245]\.(?:2\.\d{1,3}|5\.3)$/;
/** RFC 5321 §4.5.3.1.10: a bare one, to RCPT. */
const TOO_MANY_RECIPIENTS = 452;

/** @returns true: it is about one mailbox or one transaction, and tells nothing of how much is too much for all. */
export const isOfOne = ({ code, enhanced, stage }: Pick<SmtpFacts, 'code' | 'enhanced' | 'stage'>): boolean =>
  enhanced === null ? code === TOO_MANY_RECIPIENTS && stage === 'recipient' : OF_ONE.test(enhanced);
