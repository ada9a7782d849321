import type { ShownSmtp } from '../../shown-event.ts';

/** What a step can be; a reader that meets a new one still has its sentence. */
export const STEP_TYPES = [
  'requested',
  'key_checked',
  'domain_checked',
  'html_checked',
  'analyzed',
  'accepted',
  'scheduled',
  'rescheduled',
  'held',
  'attempt_started',
  'outcome_unknown',
  'delivered',
  'deferred',
  'bounced',
  'expired',
  'failed',
  'suppressed',
  'cancelled',
  'complained',
  'unsubscribed',
  'webhook_owed',
  'webhook_tried',
] as const;
export type StepType = (typeof STEP_TYPES)[number];

/** Why a recipient does not have it yet. */
export const WAIT_REASONS = [
  /** Its sender asked for a later time. */
  'scheduled',
  /** Its time has come, and no worker has taken it yet. */
  'due_now',
  /** A worker is handing it over. */
  'in_hand',
  /** A worker had it, and was not heard of in time. */
  'attempt_lost',
  /** A copy may have arrived. */
  'outcome_unknown',
  /** Mail of its kind is kept back for now, whoever it is for. */
  'held',
  /** Its servers get nothing for now. */
  'destination_suspended',
  /** Strangers are asked to come back (RFC 6647). */
  'greylisted',
  /** The other side said so. */
  'told_to_wait',
  /** Nothing was said. */
  'not_handed_over',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** The address is null once the contents are gone. */
export interface ExplainedRecipient {
  readonly id: string;
  readonly address: string | null;
}

export interface ExplainedWait {
  readonly recipient: ExplainedRecipient;
  readonly reason: WaitReason;
  readonly sentence: string;
  /** When something happens at the latest; null: at any moment. */
  readonly next_attempt_at: string | null;
}

/** The codes beside a sentence. */
export interface StepFacts {
  readonly request_id?: string;
  readonly api_key_id?: string;
  readonly api_key_name?: string;
  readonly domain_id?: string;
  readonly idempotency_key_used?: boolean;
  readonly score?: number;
  readonly verdict?: string;
  readonly stream?: string;
  readonly recipient_ids?: readonly string[];
  readonly attempt?: number;
  readonly destinations?: readonly string[];
  readonly lease_until?: string;
  readonly scheduled_at?: string;
  readonly expires_at?: string;
  readonly next_attempt_at?: string;
  readonly smtp?: ShownSmtp;
  readonly reason?: string;
  readonly method?: string;
  readonly late?: boolean;
  readonly webhook_id?: string;
  readonly event_id?: string;
  readonly event_type?: string;
  readonly status?: number | null;
  readonly duration_ms?: number;
}

export interface ExplainedStep {
  readonly at: string;
  /** `key`, `recipient`, `worker`, `operator` or `service`, and which. */
  readonly actor: { readonly type: string; readonly id: string | null };
  readonly type: StepType;
  readonly sentence: string;
  readonly recipient?: ExplainedRecipient;
  readonly facts: StepFacts;
}

/** The JSON of an explanation. */
export interface Explanation {
  readonly object: 'explanation';
  readonly message_id: string;
  /** How it stands and why, and what happens next. */
  readonly summary: string;
  readonly waiting_because: readonly ExplainedWait[];
  /** In the order in which they happened. */
  readonly steps: readonly ExplainedStep[];
  /** What there was no room for, and where it is told; null: nothing. */
  readonly left_out: string | null;
}
