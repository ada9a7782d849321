import type { MessageEvent } from '../../domain/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { AttemptOutcome } from '../../domain/message/record-attempt.ts';
import type { Logger } from '../../domain/ports/logger.ts';

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

/** What the log tells of an attempt: a line for each outcome, with how many recipients of a domain came to it. */
interface AttemptLine {
  readonly recipientDomain: string;
  readonly outcome: AttemptOutcome['outcome'];
  /** 0: no reply. */
  readonly code: number;
  readonly enhanced: string | null;
  readonly mx: string | null;
}

const lineOf = (domains: ReadonlyMap<string, string>, outcome: AttemptOutcome): AttemptLine => {
  const smtp = 'smtp' in outcome ? outcome.smtp : null;
  return {
    recipientDomain: domains.get(outcome.recipientId) ?? '',
    outcome: outcome.outcome,
    code: smtp?.code ?? 0,
    enhanced: smtp?.enhanced ?? null,
    mx: smtp?.mx ?? null,
  };
};

/** Logs what an attempt came to: never an address. @param tookMs how long the mail server took. */
export const logAttempt = (
  logger: Logger,
  { accepted: { messageId }, environment, recipients }: ExistingMessage,
  { attempt, outcomes, tookMs }: { attempt: number; outcomes: readonly AttemptOutcome[]; tookMs: number },
): void => {
  const domains = new Map(recipients.map(({ id, domain }) => [id, domain]));
  const lines = new Map<string, { readonly line: AttemptLine; count: number }>();
  for (const outcome of outcomes) {
    const line = lineOf(domains, outcome);
    const alike = lines.get(Object.values(line).join());
    if (alike === undefined) lines.set(Object.values(line).join(), { line, count: 1 });
    else alike.count += 1;
  }
  for (const { line, count } of lines.values()) {
    const { recipientDomain, outcome, code, enhanced, mx } = line;
    const told = { recipientDomain, recipientCount: count, outcome, code, enhanced, mx };
    logger.info({ messageId, environment, attempt, ...told, tookMs: Math.round(tookMs) }, 'an attempt ended');
  }
};
