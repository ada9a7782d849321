import type { Loaded } from '../../commands/execute.ts';
import { type Claim, type ClaimAttempt, claimAttempt } from '../../commands/message/attempt.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { random } from '../../domain/kernel/jitter.ts';
import type { Message } from '../../domain/message/message.ts';
import type { System } from '../../lib/async/async.ts';
import type { SendingDomains } from '../domains/sending-domains.ts';
import { countEndedUnsent, type DeliveryMetrics } from './attempt-log.ts';
import type { DueMail, RecentlyQueued } from './due.ts';

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
  readonly sendingDomains: Pick<SendingDomains, 'isDeletedFor'>;
  /** Why due mail must wait. Absent: it never does. */
  readonly holdOf?: NonNullable<ClaimAttempt['holdOf']>;
  /** True for mail that may have left before a restore, which the operator must release. Absent: no such mail. */
  readonly isHeldAfterRestore?: ((message: Message) => boolean) | undefined;
  readonly recentlyQueued: Pick<RecentlyQueued, 'addNotDue'>;
  /** Absent: nothing is counted. */
  readonly metrics?: DeliveryMetrics | undefined;
}

/** Simulated mail is not counted. */
export const isLive = (state: Message): boolean => state.status !== 'absent' && state.environment === 'live';

/**
 * Claims the next attempt, unless the recipients are suppressed, held, expired or gone.
 * @returns null: nothing is due, or another worker holds it.
 */
export const claimDue = async (
  parts: ClaimParts,
  due: DueMail,
  known: Loaded<Message>,
): Promise<SuccessfulClaim | null> => {
  const { times, system, sendingDomains, holdOf } = parts;
  const { messageId, destination } = due;
  const since = system.now().toISOString();
  try {
    const claim = await claimAttempt(parts, {
      messageId,
      known,
      destination: destination ?? undefined,
      leaseMs: times.leaseMs,
      random: random(system),
      isDomainDeleted: sendingDomains.isDeletedFor,
      ...(holdOf === undefined ? {} : { holdOf }),
    });
    if (isLive(known.state)) countEndedUnsent(parts.metrics, claim.events);
    if (claim.events.length === 0) parts.recentlyQueued.addNotDue(due, since);
    return claim.claimed ? claim : null;
  } catch (error) {
    if (error instanceof DomainError) return null;
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
