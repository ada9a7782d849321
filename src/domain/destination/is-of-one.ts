/**
 * RFC 3463 §3.3: status of one mailbox, as Gmail's 4.2.1 "receiving mail too quickly"; §3.6, X.5.3: too many recipients of
 * one transaction.
 */
const OF_ONE = /^[245]\.(?:2\.\d{1,3}|5\.3)$/;

/** @returns true: an enhanced code is about one mailbox or one transaction, and tells nothing of how much is too much for all. */
export const isOfOne = (enhanced: string | null): boolean => enhanced !== null && OF_ONE.test(enhanced);
