import type { BounceCategory } from '../bounce/categories.ts';
import type { Said } from '../suppression/suppression.ts';
import type { HoldReason, RecipientKind, ReportDoubt, SmtpFacts } from './events.ts';

/** Status of a recipient. A message's status follows from those of its recipients. */
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

/** The claim of an attempt: until then nobody else may send to the recipient. */
export interface Lease {
  readonly attempt: number;
  readonly until: string;
}

/** What keeps back a recipient that could be sent to. */
export interface Held {
  readonly reason: HoldReason;
  /** Holder whose release ends it, as in `RecipientsHeld`; null: only time does. */
  readonly heldBy: string | null;
  readonly since: string;
  /** When the hold is checked again at the latest. */
  readonly until: string;
}

/** When it was first opened and clicked, by people and by machines; null: never. */
export interface RecipientEngagement {
  readonly openedAt: string | null;
  readonly clickedAt: string | null;
  readonly machineOpenedAt: string | null;
  readonly machineClickedAt: string | null;
  /** Events of it so far. */
  readonly events: number;
}

export interface Recipient {
  readonly id: string;
  readonly kind: RecipientKind;
  readonly domain: string;
  readonly status: RecipientStatus;
  readonly smtp: SmtpFacts | null;
  readonly reason: string | null;
  /** Of the last refusal; null: there was none, or it could not be classified. */
  readonly category: BounceCategory | null;
  readonly nextAttemptAt: string | null;
  /** null: nothing keeps it back. A hold leaves `nextAttemptAt` as it was: once it ends, the recipient may be due. */
  readonly held: Held | null;
  /** null: no attempt is in flight. */
  readonly lease: Lease | null;
  /** Attempts begun for it so far. */
  readonly attempts: number;
  /** The outcome of an attempt is unknown: a copy may have arrived, whatever later attempts came to. */
  readonly inDoubt: boolean;
  readonly complained: boolean;
  /** Reports that left it as it is, each kind once. */
  readonly reportsNoted: readonly { readonly report: 'failure' | 'complaint'; readonly doubt: ReportDoubt }[];
  /** From all mail like this, the last time; null: never. */
  readonly unsubscribed: Said | null;
  /** Unsubscribed from the message's topic alone, the last time; null: never. */
  readonly leftTopic: Said | null;
  /** When a server took it; null: none has. */
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

/** As it is accepted. */
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

/** Whether the final outcome is still to come. */
export const isOpen = (status: RecipientStatus): boolean => OPEN_IN_ORDER.includes(status);

/** Status of a message with these recipients; `partial` when only some were delivered. */
export const messageStatus = (
  recipients: readonly { readonly status: RecipientStatus }[],
): { readonly status: RecipientStatus; readonly partial: boolean } => {
  const present = new Set(recipients.map(({ status }) => status));
  const open = OPEN_IN_ORDER.find((status) => present.has(status));
  if (open !== undefined) return { status: open, partial: false };
  if (present.has('delivered')) return { status: 'delivered', partial: present.size > 1 };
  return { status: ENDED_IN_ORDER.find((status) => present.has(status)) ?? 'failed', partial: false };
};

/** Whether an attempt may be sending to any of them now: it cannot be called back, and nobody else may send. */
export const isInFlight = (recipients: readonly Pick<Recipient, 'lease'>[], now: string): boolean =>
  recipients.some(({ lease }) => lease !== null && lease.until > now);

/** Attempts whose lease has ended without an outcome, each with its recipients. */
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

/** Why a recipient ended, with a note if an attempt of unknown outcome may have reached it. */
export const withDoubt = (reason: string, { status, inDoubt }: Recipient): string =>
  status === 'sending' || inDoubt ? `${reason} after an attempt whose outcome is unknown` : reason;
