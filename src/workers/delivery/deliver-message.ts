import { retry } from '../../async/retry.ts';
import type { Semaphore } from '../../async/semaphore.ts';
import { type Loaded, load } from '../../commands/execute.ts';
import { recordAttempt } from '../../commands/message/record-attempt.ts';
import { type StartAttempt, startAttempt } from '../../commands/message/start-attempt.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { Environment } from '../../domain/environment.ts';
import { random } from '../../domain/jitter.ts';
import { type Message, message } from '../../domain/message/message.ts';
import { AppendOutcomeUnknown, type EventStore, StoreUnavailable } from '../../domain/ports/event-store.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { MailTransport, OutgoingMail } from '../../domain/ports/mail-transport.ts';
import { messageStream } from '../../domain/streams.ts';
import type { AcceptedAtHand } from './accepted-at-hand.ts';
import { type Moment, mayCompleteOf, momentOf, type UnrecordedOutcomes } from './claim-fence.ts';
import type { DeletedDomains } from './deleted-domains.ts';
import type { Due } from './delivery-job.ts';
import { type DeliveryMeasures, logAttempt, noteAttempt, noteEndedUnsent } from './delivery-measures.ts';
import { postponed, type Reported, reportOf } from './outcomes.ts';
import { type Claimed, loadMails, type OutgoingMailParts } from './outgoing-mails.ts';
import type { RecentlyAdded } from './recently-added.ts';

/** How long an attempt may take, and how long nobody else may make one. */
export interface AttemptTimes {
  /** No final dot leaves later than this after the claim. */
  readonly attemptMs: number;
  /** Longer than `attemptMs` by what recording the outcome may take. */
  readonly leaseMs: number;
}

export interface DeliverMessageParts extends OutgoingMailParts {
  readonly store: EventStore;
  readonly transports: Readonly<Record<Environment, MailTransport>>;
  readonly times: AttemptTimes;
  readonly deletedDomains: Pick<DeletedDomains, 'has'>;
  /** What has to wait though it is due. Absent: nothing. */
  readonly holdOf?: NonNullable<StartAttempt['holdOf']>;
  readonly acceptedAtHand: Pick<AcceptedAtHand, 'take'>;
  readonly recentlyAdded: Pick<RecentlyAdded, 'noteNotDue'>;
  readonly logger: Logger;
  /** Absent: nobody looks. */
  readonly measures?: DeliveryMeasures | undefined;
}

export interface DeliverMessage extends DeliverMessageParts {
  /** How much of messages may be in memory, by `sizeBytes`. */
  readonly bytesInHand: Semaphore;
  readonly unrecorded: UnrecordedOutcomes;
}

/** An attempt that was claimed and made; it is not over before it is recorded. */
export interface Attempted {
  readonly claim: Claimed;
  readonly reported: Reported;
  /** How long the other side took. */
  readonly tookMs: number;
}

/** What is simulated is not counted. */
const isLive = (state: Message): boolean => state.status !== 'absent' && state.environment === 'live';

/** null: it is not due, or in somebody else's hands. */
const claimAttempt = async (deps: DeliverMessage, due: Due, known: Loaded<Message>): Promise<Claimed | null> => {
  const { times, system, deletedDomains, holdOf } = deps;
  const { messageId, destination } = due;
  const since = system.now().toISOString();
  const attempt = {
    ...{ messageId, leaseMs: times.leaseMs, random: random(system), isDomainDeleted: deletedDomains.has },
    ...{ known, destination: destination ?? undefined },
    ...(holdOf === undefined ? {} : { holdOf }),
  };
  try {
    const claim = await startAttempt(deps, attempt);
    if (isLive(known.state)) noteEndedUnsent(deps.measures, claim.events);
    if (claim.events.length === 0) deps.recentlyAdded.noteNotDue(due, since);
    return claim.claimed ? claim : null;
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
};

interface Limits {
  /** Before the attempt was claimed. */
  readonly begun: Moment;
  readonly signal: AbortSignal;
}

/** Nothing was sent, or nobody knows. */
const unsaid = (claim: Claimed, reported: Reported): Attempted => ({ claim, reported, tookMs: 0 });

/** An alarm, and another try later. */
const notSent = ({ logger }: DeliverMessage, claim: Claimed, ids: readonly string[], err: unknown): Attempted => {
  const { messageId } = claim.message.state.accepted;
  logger.error({ messageId, err }, 'a message could not be sent: it is tried again later');
  return unsaid(claim, postponed(ids, 'a fault of the sending service'));
};

const sendMail = async (
  deps: DeliverMessage,
  claim: Claimed,
  mail: OutgoingMail,
  { begun, heard, signal }: Limits & { readonly heard: Moment },
): Promise<Attempted> => {
  const { state } = claim.message;
  const recipientIds = new Set(mail.envelope.to.map(({ recipientId }) => recipientId));
  const options = {
    deadlineMs: begun.monotonicMs + deps.times.attemptMs,
    signal,
    mayComplete: mayCompleteOf(deps, { claim, recipientIds, begun, heard, signal }),
  };
  const { uuid, monotonicMs } = deps.system;
  const beganMs = monotonicMs();
  try {
    const outcomes = await deps.transports[state.environment].send(mail, options);
    const reported = reportOf(state, outcomes, { uuid, stopping: signal.aborted });
    const tookMs = monotonicMs() - beganMs;
    if (isLive(state)) noteAttempt(deps.measures, reported.outcomes, tookMs);
    logAttempt(deps.logger, state, { attempt: claim.attempt, outcomes: reported.outcomes, tookMs });
    return { claim, reported, tookMs };
  } catch (error) {
    return notSent(deps, claim, [...recipientIds], error);
  }
};

const isHeld = ({ message, attempt }: Claimed): boolean =>
  message.state.recipients.some(({ lease }) => lease?.attempt === attempt);

/**
 * Sends an attempt's mails one after another: all at once would hold as many copies in memory. What came of one is
 * recorded before the next leaves, so that no more than one is ever in doubt. Once the claim is lost nothing leaves any
 * more: the rest is somebody else's.
 * @returns the last.
 */
const sendInTurn = async (
  deps: DeliverMessage,
  claim: Claimed,
  [first, ...further]: readonly OutgoingMail[],
  limits: Limits,
): Promise<Attempted> => {
  if (first === undefined) return unsaid(claim, postponed([], ''));
  let attempted = await sendMail(deps, claim, first, { ...limits, heard: limits.begun });
  for (const mail of further) {
    const heard = momentOf(deps.system);
    const next: Claimed = { ...claim, message: await recordOutcome(deps, attempted) };
    if (!isHeld(next)) return unsaid(next, postponed([], ''));
    attempted = await sendMail(deps, next, mail, { ...limits, heard });
  }
  return attempted;
};

const send = async (deps: DeliverMessage, claim: Claimed, limits: Limits): Promise<Attempted> => {
  let mails: readonly OutgoingMail[];
  try {
    mails = await loadMails(deps, claim);
  } catch (error) {
    return notSent(deps, claim, claim.recipientIds, error);
  }
  return sendInTurn(deps, claim, mails, limits);
};

/**
 * Claims a message's next attempt and makes it. Contents that are missing and mail that cannot be built are faults of
 * ours: an alarm, and another try later, never the end of a message.
 * @returns null: there was nothing to do.
 */
export const attemptMessage = async (
  deps: DeliverMessage,
  due: Due,
  signal: AbortSignal,
): Promise<Attempted | null> => {
  const { messageId } = due;
  const known = deps.acceptedAtHand.take(messageId) ?? (await load(deps.store, message, messageStream(messageId)));
  if (known.state.status === 'absent') return null;
  await deps.unrecorded.room(() => !signal.aborted);
  if (signal.aborted) return null;
  // There is room for it before it is claimed: the lease does not run while it waits for larger ones.
  return deps.bytesInHand.run(async () => {
    const begun = momentOf(deps.system);
    const claim = await claimAttempt(deps, due, known);
    return claim && send(deps, claim, { begun, signal });
  }, known.state.accepted.sizeBytes);
};

/** Waits between tries to record: shorter hammers a log that is down, longer keeps what was sent in doubt. */
const RECORD_WAIT_MS_MIN = 200;
const RECORD_WAIT_MS_MAX = 2_000;

const isAway = (error: unknown): boolean => error instanceof StoreUnavailable || error instanceof AppendOutcomeUnknown;

/** While the log is away, until the lease of an attempt of now has ended; else as often as anything is tried. */
const untilRecorded = async <Result>(deps: DeliverMessage, record: () => Promise<Result>): Promise<Result> => {
  const { system, times } = deps;
  const untilMs = system.monotonicMs() + times.leaseMs;
  for (let waitMs = RECORD_WAIT_MS_MIN; ; waitMs = Math.min(2 * waitMs, RECORD_WAIT_MS_MAX)) {
    try {
      return await retry(system, record);
    } catch (error) {
      if (!isAway(error) || system.monotonicMs() >= untilMs) throw error;
      await system.sleep(waitMs);
    }
  }
};

/**
 * Records what an attempt came to. When that fails for good the attempt is in doubt until its lease ends: the one
 * window in which a recipient can get a second copy (with the same Message-ID).
 */
export const recordOutcome = async (
  deps: DeliverMessage,
  { claim, reported }: Pick<Attempted, 'claim' | 'reported'>,
): Promise<Claimed['message']> => {
  const { unrecorded, system } = deps;
  const recording = { message: claim.message, attempt: claim.attempt, ...reported, random: random(system) };
  return unrecorded.during(() => untilRecorded(deps, () => recordAttempt(deps, recording)));
};
