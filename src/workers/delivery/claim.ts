import type { LoadedStream } from '../../commands/execute.ts';
import { type Claim, type ClaimAttempt, claimAttempt } from '../../commands/message/attempt.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import type { AttemptOutcome } from '../../domain/message/attempt.ts';
import type { ExistingMessage, Message } from '../../domain/message/message.ts';
import type { RecipientOutcome } from '../../domain/ports/mail.ts';
import type { Logger, System } from '../../lib/async/async.ts';
import { random } from '../../lib/async/async.ts';
import type { SendingDomains } from '../domains/sending-domains.ts';
import type { DueMail, RecentlyQueued } from './due.ts';
import type { LogWatch } from './log-watch.ts';

/** Metrics and log lines of attempts. Neither names an address. */

/** The outcome for a recipient: by an attempt, or (cancelled, failed, expired, suppressed) without one. */
export type DeliveryOutcome = AttemptOutcome['outcome'] | 'cancelled' | 'expired';

/** Counts the outcomes of live mail. */
export interface DeliveryMetrics {
  /** One more recipient with this outcome. */
  count(outcome: DeliveryOutcome): void;
  /** One more recipient with this outcome at a server that saw this address of ours. */
  countSource(source: string, outcome: RecipientOutcome['outcome']): void;
  /** How long the mail server took for an attempt. */
  took(ms: number): void;
}

const ENDED_UNSENT: Partial<Record<MessageEvent['type'], DeliveryOutcome>> = {
  RecipientCancelled: 'cancelled',
  RecipientExpired: 'expired',
  RecipientFailed: 'failed',
  RecipientSuppressed: 'suppressed',
};

/** Counts the outcomes of an attempt. */
export const countOutcomes = (
  metrics: DeliveryMetrics | undefined,
  {
    recipientOutcomes,
    outcomes,
    tookMs,
  }: {
    readonly recipientOutcomes: readonly RecipientOutcome[];
    readonly outcomes: readonly AttemptOutcome[];
    readonly tookMs: number;
  },
): void => {
  metrics?.took(tookMs);
  for (const { outcome } of outcomes) metrics?.count(outcome);
  for (const { source, outcome } of recipientOutcomes) {
    if (source !== undefined) metrics?.countSource(source, outcome);
  }
};

/** Counts the recipients that ended at the claim, without an attempt. */
const countEndedUnsent = (metrics: DeliveryMetrics | undefined, events: readonly MessageEvent[]): void => {
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

/**
 * Claims of attempts. A claim is an event in the message's stream, with a lease: of two workers that claim at once, one gets
 * a conflict. `fence.ts` keeps an attempt from completing a message after its lease has ended.
 */

/** How long an attempt may take, and how long its claim excludes others. */
export interface AttemptTimes {
  /** No final dot leaves later than this after the claim. */
  readonly attemptMs: number;
  /** Longer than `attemptMs` by what recording the outcome may take. */
  readonly leaseMs: number;
}

export type SuccessfulClaim = Extract<Claim, { claimed: true }>;

export interface ClaimParts {
  readonly store: EventStore;
  readonly times: AttemptTimes;
  readonly system: System;
  readonly sendingDomains: Pick<SendingDomains, 'deletedBy'>;
  /** Why due mail must wait. Absent: it never does. */
  readonly holdOf?: NonNullable<ClaimAttempt['holdOf']>;
  /** True for mail that may have left before a restore, which the operator must release. Absent: no such mail. */
  readonly isHeldAfterRestore?: ((message: Message) => boolean) | undefined;
  readonly recentlyQueued: Pick<RecentlyQueued, 'addNotDue'>;
  /** Absent: lost attempts never wait. */
  readonly logWatch?: Pick<LogWatch, 'isSettled' | 'wasAwaySince' | 'noteAway'>;
  /** Absent: nothing is counted. */
  readonly metrics?: DeliveryMetrics | undefined;
}

/** Simulated mail is not counted. */
export const isLive = (state: Message): boolean => state.status !== 'absent' && state.environment === 'live';

const claim = async (
  parts: ClaimParts,
  due: DueMail,
  known: LoadedStream<Message>,
  signal: AbortSignal,
): Promise<SuccessfulClaim | null> => {
  const { times, system, sendingDomains, holdOf } = parts;
  const { messageId, destination } = due;
  const since = system.now().toISOString();
  const leavesLost = parts.logWatch?.isSettled() === false;
  const claimed = await claimAttempt(parts, {
    messageId,
    known,
    destination: destination ?? undefined,
    leaseMs: times.leaseMs,
    random: random(system),
    domainDeletedBy: sendingDomains.deletedBy,
    leavesLost,
    // An attempt without time left returns its claim.
    patience: signal,
    ...(holdOf === undefined ? {} : { holdOf }),
  });
  if (isLive(known.state)) countEndedUnsent(parts.metrics, claimed.events);
  if (claimed.events.length === 0 && !leavesLost) parts.recentlyQueued.addNotDue(due, since);
  return claimed.claimed ? claimed : null;
};

/**
 * Claims the next attempt, unless the recipients are suppressed, held, expired or gone.
 * @returns null: nothing is due, or another worker holds it.
 */
export const claimDue = async (
  parts: ClaimParts,
  due: DueMail,
  known: LoadedStream<Message>,
  signal: AbortSignal,
): Promise<SuccessfulClaim | null> => {
  try {
    return await claim(parts, due, known, signal);
  } catch (error) {
    if (error instanceof DomainError) return null;
    parts.logWatch?.noteAway();
    throw error;
  }
};

/** Whether any recipient is still leased to this attempt. */
export const isHeld = (
  state: Message,
  attempt: number,
  isOurs: (recipientId: string) => boolean = () => true,
): boolean =>
  state.status !== 'absent' && state.recipients.some(({ id, lease }) => isOurs(id) && lease?.attempt === attempt);
