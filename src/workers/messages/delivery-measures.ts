import type { MessageEvent } from '../../domain/events.ts';
import type { AttemptOutcome } from '../../domain/message/record-attempt.ts';

/** What came of a recipient: by an attempt, or (failed, expired, suppressed) without one. */
export type DeliveryOutcome = AttemptOutcome['outcome'] | 'expired';

/** Where what came of live mail is counted. */
export interface DeliveryMeasures {
  /** One more recipient came to this. */
  count(outcome: DeliveryOutcome): void;
  /** How long a mail server took for an attempt. */
  took(ms: number): void;
}

const ENDED_UNSENT: Partial<Record<MessageEvent['type'], DeliveryOutcome>> = {
  RecipientExpired: 'expired',
  RecipientFailed: 'failed',
  RecipientSuppressed: 'suppressed',
};

/** Counts what a mail server said in one attempt. */
export const noteAttempt = (
  measures: DeliveryMeasures | undefined,
  outcomes: readonly AttemptOutcome[],
  tookMs: number,
): void => {
  measures?.took(tookMs);
  for (const { outcome } of outcomes) measures?.count(outcome);
};

/** Counts who ended where an attempt was to be claimed for him. */
export const noteEndedUnsent = (measures: DeliveryMeasures | undefined, events: readonly MessageEvent[]): void => {
  for (const { type } of events) {
    const outcome = ENDED_UNSENT[type];
    if (outcome !== undefined) measures?.count(outcome);
  }
};
