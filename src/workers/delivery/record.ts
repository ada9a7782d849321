import { isLogAway } from '../../commands/execute.ts';
import { recordAttempt } from '../../commands/message/attempt.ts';
import type { BounceCategory } from '../../domain/bounce/categories.ts';
import { askedWaitSeconds, classifyReply } from '../../domain/bounce/classify.ts';
import { isOwnDestination } from '../../domain/destination/suspension.ts';
import type { EventStore } from '../../domain/kernel/event-store.ts';
import { type AttemptOutcome, REFUSED } from '../../domain/message/attempt.ts';
import { boundReply } from '../../domain/message/draft.ts';
import type { SmtpFacts } from '../../domain/message/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Contents, MessageContents } from '../../domain/ports/contents.ts';
import { type RecipientOutcome, SOURCES_WARMING_UP } from '../../domain/ports/mail.ts';
import { random, retryBy, type System } from '../../lib/async/async.ts';
import { SALT_BYTES } from '../../lib/transparency/transparency.ts';
import type { AttemptTimes, SuccessfulClaim } from './claim.ts';
import type { LogWatch } from './log-watch.ts';

/** Limits the messages that a crash would send again: completed, but not recorded yet. */
export interface UnrecordedOutcomes {
  /** Counts a message whose final dot is sent now. @returns to be called when its mail server has answered, or never will. */
  complete(): () => void;
  /** Counts an outcome while `record` runs. */
  during<Result>(record: () => Promise<Result>): Promise<Result>;
  /** Whether another message may be claimed, or completed. */
  hasRoom(): boolean;
  /**
   * Resolves when there is room: each outcome that is recorded lets one caller go on.
   * @param isWanted asked now and then: a caller without a use for the room goes on soon too.
   */
  room(isWanted: () => boolean): Promise<void>;
  /** Lets the next caller go on instead of this one. */
  passOn(): void;
}

/**
 * A process that is killed sends each of them again. With appends of 15 ms this many make 1,000 a second. Measured in turns on two
 * busy cores, 32 deliver no more and make a crash send twice as many again, and 8 cost a quarter more processor time a
 * message, since fewer share a commit.
 */
const UNRECORDED_MAX = 16;
/** A slower log gets fewer at a time, but as many a second, and never fewer than the next number. */
const QUICK_MS = 100;
const UNRECORDED_MAX_OF_SLOW = 8;
/**
 * How many ticks a message counts while its mail server does not answer and others wait: at least 30 ms. More let slow servers
 * delay the mail to all others: together they complete no more than `UNRECORDED_MAX` in this time. Fewer leave out more of
 * what a crash sends twice.
 */
const IN_FLIGHT_TICKS_MAX = 3;
/**
 * A busy process ticks more slowly, and reads the answers of its mail servers between two ticks: a message never stops
 * counting because its answer waits for this process.
 */
const TICK_MS = 10;
/** Weight of the newest sample in the moving average of recording times. Higher reacts to a single slow commit. */
const NEWEST = 0.1;
/** After this many ticks a waiting caller checks whether it is still wanted. */
const LOOKS_EVERY = 25;

const roomAt = (recordMs: number): number =>
  Math.max(UNRECORDED_MAX_OF_SLOW, Math.min(UNRECORDED_MAX, Math.floor((UNRECORDED_MAX * QUICK_MS) / recordMs)));

export const createUnrecordedOutcomes = ({
  monotonicMs,
  sleep,
}: Pick<System, 'monotonicMs' | 'sleep'>): UnrecordedOutcomes => {
  /** Called with whether it is the caller's turn; if not, it checks again. */
  const waiting = new Set<(isTurn: boolean) => void>();
  const inFlight = new Set<{ ticksLeft: number }>();
  let recording = 0;
  let recordMs = 0;
  let isTicking = false;

  const forgetSlow = (): void => {
    for (const one of inFlight) {
      one.ticksLeft -= 1;
      if (one.ticksLeft <= 0) inFlight.delete(one);
    }
  };
  const freePlaces = (): number => roomAt(recordMs) - recording - inFlight.size;
  const hasRoom = (): boolean => freePlaces() > 0;
  const letGo = (places: number): void => {
    let left = places;
    for (const next of waiting) {
      if (left <= 0) return;
      left -= 1;
      waiting.delete(next);
      next(true);
    }
  };
  const passOn = (): void => letGo(Math.min(1, freePlaces()));
  const lookAgain = (): void => {
    for (const look of waiting) look(false);
    waiting.clear();
  };

  /** One timer for all callers: room also comes when slow servers no longer count. It does not run while no caller waits. */
  const tick = async (): Promise<void> => {
    isTicking = true;
    for (let ticks = 1; waiting.size > 0; ticks += 1) {
      await sleep(TICK_MS);
      forgetSlow();
      if (ticks % LOOKS_EVERY === 0) lookAgain();
      else letGo(freePlaces());
    }
    isTicking = false;
  };

  /** @returns whether the caller's turn came. */
  const turn = (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    waiting.add(resolve);
    if (!isTicking) void tick();
    return promise;
  };

  return {
    complete: () => {
      const one = { ticksLeft: IN_FLIGHT_TICKS_MAX };
      inFlight.add(one);
      return () => void inFlight.delete(one);
    },
    during: async (record) => {
      const beganMs = monotonicMs();
      recording += 1;
      try {
        return await record();
      } finally {
        recording -= 1;
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

/** Turns what a transport reports into outcomes, and records them: the last step of an attempt. */

/** Outcomes for the log, and the texts of the replies, which go to the vault. */
export interface AttemptReport {
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
/** Our own findings about a session, by the status that the SMTP client gives them. */
const FINDINGS: Readonly<Record<string, string>> = {
  '4.7.10': 'TLS is required, and the mail server offers none',
  '4.7.5': 'TLS is required, and with the mail server it failed',
};
const ADDRESSES_WARMING_UP = 'each address that may send it is warming up and has used its quota of the day';

/** This service cut the attempt off before its message was complete: why, in a sentence. */
export type CutOff = 'the service was stopping' | 'the event log was not available' | typeof ADDRESSES_WARMING_UP;

/** True if a mail server replied, so that its text can be quoted. */
const wasReceived = ({ code }: Reply): boolean => code > 0;

const bounceReason = (reply: Reply): string => (wasReceived(reply) ? REFUSED : UNDELIVERABLE);

/** False if the recipient domain's own DNS or policy prevented the attempt: it is then reported as its own destination (`ports/mail.ts`). */
const wasTried = ({ destination, address }: Reply): boolean =>
  typeof address === 'string' || !isOwnDestination(destination ?? '');

/** The relay that accepts all mail belongs to this service, like the process itself. */
const faultOf = (reply: Reply, cutOff: CutOff | null): { readonly ownFault?: true } =>
  !wasReceived(reply) && (cutOff !== null || reply.destination === undefined) ? { ownFault: true } : {};

const deferralReason = (reply: Reply, cutOff: CutOff | null): string => {
  if (wasReceived(reply)) return LATER;
  if (cutOff !== null) return cutOff;
  return FINDINGS[reply.enhanced ?? ''] ?? (wasTried(reply) ? NOT_REACHED : NOT_TRIED);
};

/** undefined: the attempt was cut off by this service and says nothing about the mail server. */
const categoryOf = (reply: Reply, cutOff: CutOff | null): BounceCategory | undefined => {
  if (wasReceived(reply)) return classifyReply(reply);
  if (cutOff !== null) return undefined;
  const category = classifyReply(reply);
  return category === 'unknown' ? 'network' : category;
};

/** Facts of a reply without its text. */
export const smtpFactsOf = (reply: RecipientOutcome): SmtpFacts => {
  const { code, enhanced, mx, tls, cipher, policy, address, source, stage } = reply;
  return {
    code,
    enhanced,
    mx,
    tls,
    ...(cipher === undefined ? {} : { cipher }),
    ...(policy === undefined ? {} : { policy }),
    ...(address === undefined ? {} : { address }),
    ...(source === undefined ? {} : { source }),
    ...(stage === undefined ? {} : { stage }),
    replyId: null,
  };
};

const isWarmingUp = ({ code, enhanced }: Reply): boolean => code === 0 && enhanced === SOURCES_WARMING_UP;

/** Why this service asked nothing of the mail server. */
const cutOffBy = (reply: Reply, attempt: CutOff | null): CutOff | null =>
  isWarmingUp(reply) ? ADDRESSES_WARMING_UP : attempt;

/** undefined: the retry schedule applies. */
const waitOf = (reply: Reply, cutOff: CutOff | null): number | undefined => {
  // Nothing was asked of the mail server that a wait would spare it.
  if (cutOff !== null && !wasReceived(reply) && !isWarmingUp(reply)) return 0;
  return 'retryAfterSeconds' in reply ? reply.retryAfterSeconds : undefined;
};

const outcomeOf = (reply: Reply, smtp: SmtpFacts, cutOff: CutOff | null): AttemptOutcome => {
  const { recipientId, outcome } = reply;
  if (outcome === 'delivered') return { recipientId, outcome, smtp, complained: reply.complained === true };
  // A category is given without a reply too: a server may not offer what the address needs.
  const category = categoryOf(reply, cutOff);
  const classified = { recipientId, smtp, ...(category === undefined ? {} : { category }) };
  if (outcome === 'bounced') return { ...classified, outcome, reason: bounceReason(reply) };
  const wait = waitOf(reply, cutOff);
  const asked = wasReceived(reply) ? askedWaitSeconds(reply.text) : undefined;
  return {
    ...classified,
    outcome,
    reason: deferralReason(reply, cutOff),
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
    ...(asked === undefined ? {} : { askedSeconds: asked }),
    ...faultOf(reply, cutOff),
  };
};

/** @param cutOff null: the attempt was not cut off. */
export const reportOf = (
  { organizationId, accepted: { messageId } }: ExistingMessage,
  recipientOutcomes: readonly RecipientOutcome[],
  { uuid, randomBytes, cutOff }: Pick<System, 'uuid' | 'randomBytes'> & { readonly cutOff: CutOff | null },
): AttemptReport => {
  const replies: MessageContents[] = [];
  const outcomes = recipientOutcomes.map((each): AttemptOutcome => {
    const { recipientId, outcome } = each;
    if (outcome === 'unknown') return { recipientId, outcome };
    if (outcome === 'suppressed') return { recipientId, outcome, reason: each.text };
    const { destination } = each;
    const id = uuid();
    const { body, root } = boundReply(messageId, each.text, randomBytes(SALT_BYTES));
    replies.push({ id, organizationId, body });
    const reported = outcomeOf(each, { ...smtpFactsOf(each), replyId: id, replyRoot: root }, cutOffBy(each, cutOff));
    return destination === undefined ? reported : { ...reported, destination };
  });
  return { outcomes, replies };
};

/** A fault of our own, for all recipients alike: nothing was sent, and another attempt follows. */
export const postponed = (recipientIds: readonly string[], reason: string): AttemptReport => ({
  replies: [],
  outcomes: recipientIds.map((recipientId) => ({
    recipientId,
    outcome: 'deferred',
    reason,
    ownFault: true,
    smtp: { code: 0, enhanced: null, mx: null, tls: null, replyId: null },
  })),
});

interface RecordParts {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly system: System;
  readonly times: AttemptTimes;
  readonly unrecorded: UnrecordedOutcomes;
  /** Notes that the log refused an outcome. Absent: not noted. */
  readonly logWatch?: Pick<LogWatch, 'noteAway'>;
  /** Aborts when this process ends. */
  readonly ending: AbortSignal;
}

/**
 * Waits between tries to record: shorter hammers a log that is down. Longer keeps what was sent in doubt, and the next try
 * must come before other workers treat the attempt as lost (`SETTLE_MS`).
 */
const WAIT_MS_MIN = 200;
const WAIT_MS_MAX = 1_000;

/**
 * Records what an attempt came to: for as long as the log is away, and after any other fault until the lease of an attempt of
 * now has ended. If it is never recorded, the attempt is in doubt: the one case in which a recipient can get a second
 * copy (with the same Message-ID).
 */
export const recordOutcome = async (
  parts: RecordParts,
  { claim, reported }: { readonly claim: SuccessfulClaim; readonly reported: AttemptReport },
): Promise<SuccessfulClaim['message']> => {
  const { unrecorded, system, times, logWatch, ending } = parts;
  const recording = {
    message: claim.message,
    attempt: claim.attempt,
    outcomes: reported.outcomes,
    replies: reported.replies,
    random: random(system),
  };
  const policy = {
    system,
    waitMsMin: WAIT_MS_MIN,
    waitMsMax: WAIT_MS_MAX,
    isFinal: (error: unknown, _: number, elapsedMs: number): boolean =>
      ending.aborted || (!isLogAway(error) && elapsedMs >= times.leaseMs),
    onWait: () => logWatch?.noteAway(),
  };
  return unrecorded.during(() => retryBy(policy, () => recordAttempt(parts, recording)));
};
