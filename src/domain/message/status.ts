/** How a recipient stands (a message is a fold of its recipients). */
export const RECIPIENT_STATUSES = [
  'accepted',
  'scheduled',
  'sending',
  'delivered',
  'deferred',
  'bounced',
  'failed',
  'suppressed',
  'cancelled',
  'expired',
] as const;
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number];

const OPEN_IN_ORDER: readonly RecipientStatus[] = ['sending', 'deferred', 'scheduled', 'accepted'];
const ENDED_IN_ORDER: readonly RecipientStatus[] = ['bounced', 'failed', 'expired', 'suppressed', 'cancelled'];

export const isOpen = (status: RecipientStatus): boolean => OPEN_IN_ORDER.includes(status);

/** The message's status: pure fold of its recipients'; `partial` when only some were delivered. */
export const messageStatus = (
  recipients: readonly { readonly status: RecipientStatus }[],
): { readonly status: RecipientStatus; readonly partial: boolean } => {
  const present = new Set(recipients.map(({ status }) => status));
  const open = OPEN_IN_ORDER.find((status) => present.has(status));
  if (open !== undefined) return { status: open, partial: false };
  if (present.has('delivered')) return { status: 'delivered', partial: present.size > 1 };
  return { status: ENDED_IN_ORDER.find((status) => present.has(status)) ?? 'failed', partial: false };
};
