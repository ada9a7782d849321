/** Reason why a delivery to a recipient failed, independent of the wording of any server. */
export const BOUNCE_CATEGORIES = [
  'no_mailbox',
  'no_domain',
  'mailbox_disabled',
  'mailbox_full',
  'too_large',
  'content_rejected',
  'spam',
  'policy',
  'reputation',
  'authentication',
  'greylisted',
  'rate_limited',
  'sender_rejected',
  'relay_denied',
  'system',
  'network',
  'protocol',
  'unknown',
] as const;
export type BounceCategory = (typeof BOUNCE_CATEGORIES)[number];

/**
 * Faults of the address itself. All other categories concern the message, this service or the receiving system, and
 * never suppress.
 */
const SUPPRESSING: ReadonlySet<BounceCategory> = new Set(['no_mailbox', 'no_domain', 'mailbox_disabled']);

export const suppresses = (category: BounceCategory): boolean => SUPPRESSING.has(category);
