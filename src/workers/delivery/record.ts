import { retryBy } from '../../async/retry.ts';
import { pause } from '../../async/with-timeout.ts';
import { recordAttempt } from '../../commands/message/record-attempt.ts';
import type { BounceCategory } from '../../domain/bounce/categories.ts';
import { askedWaitSeconds, classifyReply } from '../../domain/bounce/classify.ts';
import { isOwnDestination } from '../../domain/destination/destination.ts';
import { random } from '../../domain/jitter.ts';
import type { SmtpFacts } from '../../domain/message/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import { type AttemptOutcome, REFUSED } from '../../domain/message/record-attempt.ts';
import type { Contents, MessageContents } from '../../domain/ports/contents.ts';
import { AppendOutcomeUnknown, type EventStore, StoreUnavailable } from '../../domain/ports/event-store.ts';
import type { RecipientOutcome } from '../../domain/ports/mail-transport.ts';
import type { System } from '../../domain/ports/system.ts';
import type { AttemptTimes, Claimed } from './claim.ts';

/** Turns what a transport reports into outcomes, and records them: the last step of an attempt. */

/** Outcomes for the log, and the texts of the replies, which go to the vault. */
export interface Reported {
  readonly outcomes: readonly AttemptOutcome[];
  readonly replies: readonly MessageContents[];
}

type Reply = Exclude<RecipientOutcome, { outcome: 'unknown' | 'suppressed' }>;

const LATER = 'the mail server may accept it later';
/** No server was asked: the domain does not exist, takes no mail, or no server of it takes such addresses. */
const UNDELIVERABLE = 'it cannot be delivered there';
const NOT_REACHED = 'no answer from the mail server';
/** The domain's DNS or policy leaves no server that may be asked. */
const NOT_TRIED = 'no server was tried';
const STOPPING = 'the service was stopping';

/** Without a reply there is nothing of the mail server's to quote. */
const wasReceived = ({ code }: Reply): boolean => code > 0;

const bounceReason = (reply: Reply): string => (wasReceived(reply) ? REFUSED : UNDELIVERABLE);

/** A recipient domain is reported by itself when its own DNS or policy is the obstacle (`mail-transport.ts`). */
const wasTried = ({ destination, address }: Reply): boolean =>
  typeof address === 'string' || !isOwnDestination(destination ?? '');

const deferralReason = (reply: Reply, stopping: boolean): string => {
  if (wasReceived(reply)) return LATER;
  if (stopping) return STOPPING;
  return wasTried(reply) ? NOT_REACHED : NOT_TRIED;
};

/** undefined: an attempt cut off by our own stop says nothing of the mail server. */
const categoryOf = (reply: Reply, stopping: boolean): BounceCategory | undefined => {
  if (wasReceived(reply)) return classifyReply(reply);
  if (stopping) return undefined;
  const category = classifyReply(reply);
  return category === 'unknown' ? 'network' : category;
};

const factsOf = (reply: Reply, replyId: string): SmtpFacts => {
  const { code, enhanced, mx, tls, cipher, policy, address, stage } = reply;
  return {
    code,
    enhanced,
    mx,
    tls,
    ...(cipher === undefined ? {} : { cipher }),
    ...(policy === undefined ? {} : { policy }),
    ...(address === undefined ? {} : { address }),
    ...(stage === undefined ? {} : { stage }),
    replyId,
  };
};

const outcomeOf = (reply: Reply, smtp: SmtpFacts, stopping: boolean): AttemptOutcome => {
  const { recipientId, outcome } = reply;
  if (outcome === 'delivered') return { recipientId, outcome, smtp, complained: reply.complained === true };
  // A category is given without a reply too: a server may not offer what the address needs.
  const category = categoryOf(reply, stopping);
  const classified = { recipientId, smtp, ...(category === undefined ? {} : { category }) };
  if (outcome === 'bounced') return { ...classified, outcome, reason: bounceReason(reply) };
  // An attempt cut off by our own stop does not have to wait.
  const wait = stopping && !wasReceived(reply) ? 0 : reply.retryAfterSeconds;
  const asked = wasReceived(reply) ? askedWaitSeconds(reply.text) : undefined;
  return {
    ...classified,
    outcome,
    reason: deferralReason(reply, stopping),
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
    ...(asked === undefined ? {} : { askedSeconds: asked }),
  };
};

/** @param stopping the attempt was cut off because this process stops. */
export const reportOf = (
  { organizationId, accepted: { messageId } }: ExistingMessage,
  recipientOutcomes: readonly RecipientOutcome[],
  { uuid, stopping }: { readonly uuid: () => string; readonly stopping: boolean },
): Reported => {
  const replies: MessageContents[] = [];
  const outcomes = recipientOutcomes.map((each): AttemptOutcome => {
    const { recipientId, outcome } = each;
    if (outcome === 'unknown') return { recipientId, outcome };
    if (outcome === 'suppressed') return { recipientId, outcome, reason: each.text };
    const { destination } = each;
    const id = uuid();
    replies.push({ id, organizationId, body: { kind: 'reply', messageId, text: each.text } });
    const reported = outcomeOf(each, factsOf(each, id), stopping);
    return destination === undefined ? reported : { ...reported, destination };
  });
  return { outcomes, replies };
};

/** A fault of our own, for all recipients alike: nothing was sent, and another attempt follows. */
export const postponed = (recipientIds: readonly string[], reason: string): Reported => ({
  replies: [],
  outcomes: recipientIds.map((recipientId) => ({
    recipientId,
    outcome: 'deferred',
    reason,
    smtp: { code: 0, enhanced: null, mx: null, tls: null, replyId: null },
  })),
});

/** Limits the outcomes that mail servers have given and the log has not taken yet. */
export interface UnrecordedOutcomes {
  /** Counts while `record` runs. */
  during<Result>(record: () => Promise<Result>): Promise<Result>;
  /** Whether another message may be claimed, or completed. */
  hasRoom(): boolean;
  /**
   * Resolves when there is room: each outcome that is recorded lets one caller go on.
   * @param isWanted asked now and then: a caller without a use for the room goes on soon too.
   */
  room(isWanted: () => boolean): Promise<void>;
  /** Lets the next caller go on: this one had its turn and does not use it. */
  passOn(): void;
}

/**
 * A process that is killed sends each of them once more. With a log that takes 30 ms this many are 1,000 in a second; more
 * only wait in a log that is busy. Fewer slow delivery down, more are doubled by a crash.
 */
const UNRECORDED_MAX = 32;
/** A slower log gets fewer at a time: as many in a second, though never fewer than the next number. */
const QUICK_MS = 100;
const UNRECORDED_MAX_OF_SLOW = 8;
/** Weight of the newest in the moving average of the time that recording takes. More reacts to a single slow commit. */
const NEWEST = 0.1;
/** A caller that nobody lets go on looks again: the one before it may have ended with nothing to record. */
const LOOK_AGAIN_MS = 250;

const roomAt = (recordMs: number): number =>
  Math.max(UNRECORDED_MAX_OF_SLOW, Math.min(UNRECORDED_MAX, Math.floor((UNRECORDED_MAX * QUICK_MS) / recordMs)));

export const createUnrecordedOutcomes = (system: Pick<System, 'monotonicMs' | 'sleep'>): UnrecordedOutcomes => {
  const { monotonicMs } = system;
  const waiting = new Set<() => void>();
  let count = 0;
  let recordMs = 0;
  const hasRoom = (): boolean => count < roomAt(recordMs);
  const passOn = (): void => {
    const [next] = waiting;
    if (next === undefined || !hasRoom()) return;
    waiting.delete(next);
    next();
  };

  /** @returns whether the caller's turn came. */
  const turn = async (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    waiting.add(resolve);
    await Promise.race([promise, pause(system, LOOK_AGAIN_MS, over.signal)]);
    over.abort();
    return !waiting.delete(resolve);
  };

  return {
    during: async (record) => {
      const beganMs = monotonicMs();
      count += 1;
      try {
        return await record();
      } finally {
        count -= 1;
        recordMs += NEWEST * (monotonicMs() - beganMs - recordMs);
        passOn();
      }
    },
    hasRoom,
    room: async (isWanted) => {
      while (!hasRoom() && isWanted()) if (await turn()) return;
    },
    passOn,
  };
};

export interface RecordParts {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly system: System;
  readonly times: AttemptTimes;
  readonly unrecorded: UnrecordedOutcomes;
}

/** Waits between tries to record: shorter hammers a log that is down, longer keeps what was sent in doubt. */
const WAIT_MS_MIN = 200;
const WAIT_MS_MAX = 2_000;
/** Tries after any other fault. */
const TRIES_MAX = 4;

const isAway = (error: unknown): boolean => error instanceof StoreUnavailable || error instanceof AppendOutcomeUnknown;

/**
 * Records what an attempt came to: while the log is away, until the lease of an attempt of now has ended. When that fails
 * for good the attempt is in doubt until its lease ends: the one window in which a recipient can get a second copy (with
 * the same Message-ID).
 */
export const recordOutcome = async (
  parts: RecordParts,
  { claim, reported }: { readonly claim: Claimed; readonly reported: Reported },
): Promise<Claimed['message']> => {
  const { unrecorded, system, times } = parts;
  const recording = {
    message: claim.message,
    attempt: claim.attempt,
    outcomes: reported.outcomes,
    replies: reported.replies,
    random: random(system),
  };
  let faults = 0;
  const policy = {
    system,
    waitMsMin: WAIT_MS_MIN,
    waitMsMax: WAIT_MS_MAX,
    isFinal: (error: unknown, _: number, elapsedMs: number): boolean => {
      if (isAway(error)) return elapsedMs >= times.leaseMs;
      faults += 1;
      return faults >= TRIES_MAX;
    },
  };
  return unrecorded.during(() => retryBy(policy, () => recordAttempt(parts, recording)));
};
