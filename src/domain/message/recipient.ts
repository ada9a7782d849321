import type { BounceCategory } from '../bounce/categories.ts';
import type { Said } from '../suppression/suppression.ts';
import type { HoldReason, RecipientKind, ReportDoubt, SmtpFacts } from './events.ts';

/** Status of a recipient. The status of a message follows from those of its recipients. */
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

/** Claim of an attempt. Until it ends, no other worker may send to the recipient. */
export interface Lease {
  readonly attempt: number;
  readonly until: string;
}

/** Hold on a recipient that could otherwise be sent to. */
export interface Held {
  readonly reason: HoldReason;
  /** Holder whose release ends the hold, as in `RecipientsHeld`; null if only time does. */
  readonly heldBy: string | null;
  readonly since: string;
  /** Latest time at which the hold is checked again. */
  readonly until: string;
}

/** Times of the first open and click, by people and by machines; null: never. */
export interface RecipientEngagement {
  readonly openedAt: string | null;
  readonly clickedAt: string | null;
  readonly machineOpenedAt: string | null;
  readonly machineClickedAt: string | null;
  /** Number of engagement events so far. */
  readonly events: number;
}

export interface Recipient {
  readonly id: string;
  readonly kind: RecipientKind;
  readonly domain: string;
  readonly status: RecipientStatus;
  readonly smtp: SmtpFacts | null;
  readonly reason: string | null;
  /** Category of the last failure; null if there was none, or if it could not be classified. */
  readonly category: BounceCategory | null;
  readonly nextAttemptAt: string | null;
  /** Null if not held. A hold leaves `nextAttemptAt` unchanged: once it ends, the recipient may be due. */
  readonly held: Held | null;
  /** Null if no attempt is in flight. */
  readonly lease: Lease | null;
  /** Number of attempts started for this recipient. */
  readonly attempts: number;
  /** True if an attempt's outcome is unknown: a copy may have arrived, whatever later attempts resulted in. */
  readonly inDoubt: boolean;
  readonly complained: boolean;
  /** Reports that had no effect, each kind once. */
  readonly reportsNoted: readonly { readonly report: 'failure' | 'complaint'; readonly doubt: ReportDoubt }[];
  /** Last time the recipient unsubscribed from all mail like this; null: never. */
  readonly unsubscribed: Said | null;
  /** Last time the recipient unsubscribed from the message's topic only; null: never. */
  readonly leftTopic: Said | null;
  /** Time at which a server accepted the message; null if none has. */
  readonly deliveredAt: string | null;
  readonly engagement: RecipientEngagement;
  readonly updatedAt: string;
}

const NO_ENGAGEMENT: RecipientEngagement = {
  openedAt: null,
  clickedAt: null,
  machineOpenedAt: null,
  machineClickedAt: null,
  events: 0,
};

/** The initial state of a recipient. */
export const acceptedRecipient = (
  { id, kind, domain }: Pick<Recipient, 'id' | 'kind' | 'domain'>,
  updatedAt: string,
): Recipient => ({
  id,
  kind,
  domain,
  status: 'accepted',
  smtp: null,
  reason: null,
  category: null,
  nextAttemptAt: null,
  held: null,
  lease: null,
  attempts: 0,
  inDoubt: false,
  complained: false,
  reportsNoted: [],
  unsubscribed: null,
  leftTopic: null,
  deliveredAt: null,
  engagement: NO_ENGAGEMENT,
  updatedAt,
});

const OPEN_IN_ORDER: readonly RecipientStatus[] = ['sending', 'deferred', 'scheduled', 'accepted'];
const ENDED_IN_ORDER: readonly RecipientStatus[] = ['bounced', 'failed', 'expired', 'suppressed', 'cancelled'];

/** Whether the recipient has no final outcome yet. */
export const isOpen = (status: RecipientStatus): boolean => OPEN_IN_ORDER.includes(status);

/** Status of a message with these recipients. `partial`: only some were delivered. */
export const messageStatus = (
  recipients: readonly { readonly status: RecipientStatus }[],
): { readonly status: RecipientStatus; readonly partial: boolean } => {
  const present = new Set(recipients.map(({ status }) => status));
  const open = OPEN_IN_ORDER.find((status) => present.has(status));
  if (open !== undefined) return { status: open, partial: false };
  if (present.has('delivered')) return { status: 'delivered', partial: present.size > 1 };
  return { status: ENDED_IN_ORDER.find((status) => present.has(status)) ?? 'failed', partial: false };
};

/** Whether an attempt may be sending to any of them now. It cannot be stopped, and no one else may send. */
export const isInFlight = (recipients: readonly Pick<Recipient, 'lease'>[], now: string): boolean =>
  recipients.some(({ lease }) => lease !== null && lease.until > now);

/** Attempts whose lease ended without an outcome, each with its recipients. */
export const lostAttempts = (
  recipients: readonly Recipient[],
  now: string,
): readonly { readonly attempt: number; readonly recipients: readonly Recipient[] }[] => {
  const lost = new Map<number, Recipient[]>();
  for (const recipient of recipients) {
    if (recipient.lease === null || recipient.lease.until > now) continue;
    const { attempt } = recipient.lease;
    lost.set(attempt, [...(lost.get(attempt) ?? []), recipient]);
  }
  return [...lost].map(([attempt, of]) => ({ attempt, recipients: of }));
};

/** The reason why a recipient ended, with a note if an attempt of unknown outcome may have reached it. */
export const withDoubt = (reason: string, { status, inDoubt }: Recipient): string =>
  status === 'sending' || inDoubt ? `${reason} after an attempt whose outcome is unknown` : reason;
