import type { MessageEvent } from '../../domain/kernel/events.ts';
import type { AttemptOutcome } from '../../domain/message/attempt.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Logger } from '../../lib/async/async.ts';

/** Metrics and log lines of attempts. Neither names an address. */

/** The outcome for a recipient: by an attempt, or (failed, expired, suppressed) without one. */
export type DeliveryOutcome = AttemptOutcome['outcome'] | 'expired';

/** Counts the outcomes of live mail. */
export interface DeliveryMetrics {
  /** One more recipient with this outcome. */
  count(outcome: DeliveryOutcome): void;
  /** How long the mail server took for an attempt. */
  took(ms: number): void;
}

const ENDED_UNSENT: Partial<Record<MessageEvent['type'], DeliveryOutcome>> = {
  RecipientExpired: 'expired',
  RecipientFailed: 'failed',
  RecipientSuppressed: 'suppressed',
};

/** Counts the outcomes of an attempt. */
export const countOutcomes = (
  metrics: DeliveryMetrics | undefined,
  outcomes: readonly AttemptOutcome[],
  tookMs: number,
): void => {
  metrics?.took(tookMs);
  for (const { outcome } of outcomes) metrics?.count(outcome);
};

/** Counts the recipients that ended at the claim, without an attempt. */
export const countEndedUnsent = (metrics: DeliveryMetrics | undefined, events: readonly MessageEvent[]): void => {
  for (const { type } of events) {
    const outcome = ENDED_UNSENT[type];
    if (outcome !== undefined) metrics?.count(outcome);
  }
};

const lineOf = (domains: ReadonlyMap<string, string>, outcome: AttemptOutcome) => {
  const smtp = 'smtp' in outcome ? outcome.smtp : null;
  return {
    recipientDomain: domains.get(outcome.recipientId) ?? '',
    outcome: outcome.outcome,
    /** 0: no reply. */
    code: smtp?.code ?? 0,
    enhanced: smtp?.enhanced ?? null,
    mx: smtp?.mx ?? null,
  };
};

/** Logs an attempt: a line for each outcome, with the number of recipients. @param tookMs of the mail server. */
export const logAttempt = (
  logger: Logger,
  { accepted: { messageId }, environment, recipients }: ExistingMessage,
  { attempt, outcomes, tookMs }: { attempt: number; outcomes: readonly AttemptOutcome[]; tookMs: number },
): void => {
  const domains = new Map(recipients.map(({ id, domain }) => [id, domain]));
  const lines = outcomes.map((outcome) => lineOf(domains, outcome));
  for (const alike of Map.groupBy(lines, (line) => Object.values(line).join()).values()) {
    const fields = { messageId, environment, attempt, ...alike[0], recipientCount: alike.length };
    logger.info({ ...fields, tookMs: Math.round(tookMs) }, 'an attempt ended');
  }
};
