import { type Loaded, load } from '../../commands/execute.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import type { AttemptOutcome } from '../../domain/message/attempt.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import type { MailTransport, OutgoingMail } from '../../domain/ports/mail.ts';
import type { Logger, Semaphore } from '../../lib/async/async.ts';
import { countOutcomes, logAttempt } from './attempt-log.ts';
import { type ClaimParts, claimDue, isHeld, isLive, type SuccessfulClaim } from './claim.ts';
import type { AcceptedCache } from './dispatch.ts';
import type { DueMail } from './due.ts';
import { completionOf, type Moment, momentOf } from './fence.ts';
import { composeMails, type LoadMailsParts, loadMaterial, type Material } from './load-mails.ts';
import { type AttemptReport, postponed, recordOutcome, reportOf } from './record.ts';
import type { UnrecordedOutcomes } from './unrecorded-outcomes.ts';

/** Delivers a message: one attempt at what is due of it, from the claim to the outcome of its last mail. */

export interface DeliverParts extends Omit<LoadMailsParts, 'sendingDomains'>, Omit<ClaimParts, 'sendingDomains'> {
  readonly sendingDomains: LoadMailsParts['sendingDomains'] & ClaimParts['sendingDomains'];
  readonly transports: Readonly<Record<Environment, MailTransport>>;
  readonly acceptedCache: Pick<AcceptedCache, 'take'>;
  readonly logger: Logger;
}

export interface Deliver extends DeliverParts {
  /** Bounds the messages in memory, by `sizeBytes`: one for messages of such a size. */
  bytesInFlight(sizeBytes: number): Semaphore;
  readonly unrecorded: UnrecordedOutcomes;
  /** Whether its destination is suspended for its sending domain. It is looked at again a minute later. */
  isKeptBack(message: ExistingMessage): boolean;
}

/** An attempt that was made; it is over when `reported` is recorded (`recordOutcome`). */
export interface DeliveryAttempt {
  readonly claim: SuccessfulClaim;
  /** Report of its last mail. */
  readonly reported: AttemptReport;
  /** Outcomes of all its mails, from which the limits of the destination learn. */
  readonly outcomes: readonly AttemptOutcome[];
  /** Duration of the slowest mail. */
  readonly tookMs: number;
}

interface Limits {
  /** Before the attempt was claimed. */
  readonly begun: Moment;
  readonly signal: AbortSignal;
}

/**
 * Load, claim (unless suppressed or held), compose, sign, connect, send, record. The caller records the outcome of the
 * last mail, so that the place in the destination queue is free in the meantime.
 * @returns null if there was no work to do.
 */
export const deliver = async (parts: Deliver, due: DueMail, signal: AbortSignal): Promise<DeliveryAttempt | null> => {
  const known = await loadMessage(parts, due.messageId);
  const { state } = known;
  if (state.status === 'absent') return null;
  if (parts.isHeldAfterRestore?.(state) === true || (due.isExpired !== true && parts.isKeptBack(state))) {
    parts.recentlyQueued.addNotDue(due, parts.system.now().toISOString());
    return null;
  }
  await parts.unrecorded.room(() => !signal.aborted);
  if (signal.aborted) return null;
  // The claim follows the wait for memory: a lease does not run while larger messages are sent.
  const claimAndSend = async (): Promise<DeliveryAttempt | null> => {
    if (signal.aborted) return null;
    const begun = momentOf(parts.system);
    // Read while the claim is committed. If the claim fails, the result and any fault of the read are ignored.
    const material = loadMaterial(parts, state);
    material.catch(() => undefined);
    const claim = await claimDue(parts, due, known);
    return claim && composeAndSend(parts, claim, material, { begun, signal });
  };
  const { sizeBytes } = state.accepted;
  return parts.bytesInFlight(sizeBytes).run(claimAndSend, sizeBytes, state.organizationId);
};

const loadMessage = async ({ acceptedCache, store }: Deliver, messageId: string): Promise<Loaded<Message>> =>
  acceptedCache.take(messageId) ?? (await load(store, message, messageStream(messageId)));

const composeAndSend = async (
  parts: Deliver,
  claim: SuccessfulClaim,
  material: Promise<Material>,
  limits: Limits,
): Promise<DeliveryAttempt> => {
  let mails: readonly OutgoingMail[];
  try {
    mails = await composeMails(parts, claim, await material);
  } catch (error) {
    return notSent(parts, claim, claim.recipientIds, error);
  }
  // Not inside the try: once a mail has left, a fault leaves the attempt in doubt, and is no reason to send it again.
  return sendAll(parts, claim, mails, limits);
};

/** Nothing was sent: because of a fault (contents are missing, mail cannot be composed) or because the claim was lost. */
const nothingSent = (claim: SuccessfulClaim, reported: AttemptReport = postponed([], '')): DeliveryAttempt => ({
  claim,
  reported,
  outcomes: reported.outcomes,
  tookMs: 0,
});

/** The attempt after one more of its mails. */
const withEarlier = (earlier: DeliveryAttempt, last: DeliveryAttempt): DeliveryAttempt => ({
  ...last,
  outcomes: [...earlier.outcomes, ...last.outcomes],
  tookMs: Math.max(earlier.tookMs, last.tookMs),
});

/** A fault is logged as an error and defers the recipients. It never ends a message. */
const notSent = (
  { logger }: Deliver,
  claim: SuccessfulClaim,
  ids: readonly string[],
  err: unknown,
): DeliveryAttempt => {
  const { messageId } = claim.message.state.accepted;
  logger.error({ messageId, err }, 'a message could not be sent: it is tried again later');
  return nothingSent(claim, postponed(ids, 'a fault of the sending service'));
};

/**
 * Sends an attempt's mails one after another: all at once would hold as many copies in memory. Each outcome is recorded
 * before the next mail leaves, so that one mail at most is in doubt. When the claim is lost nothing more leaves.
 * @returns the last, unrecorded.
 */
const sendAll = async (
  parts: Deliver,
  claim: SuccessfulClaim,
  [first, ...further]: readonly OutgoingMail[],
  limits: Limits,
): Promise<DeliveryAttempt> => {
  if (first === undefined) return nothingSent(claim);
  let attempted = await sendMail(parts, claim, first, { ...limits, confirmed: limits.begun });
  for (const mail of further) {
    const confirmed = momentOf(parts.system);
    const next: SuccessfulClaim = { ...claim, message: await recordOutcome(parts, attempted) };
    if (!isHeld(next.message.state, next.attempt)) return withEarlier(attempted, nothingSent(next));
    attempted = withEarlier(attempted, await sendMail(parts, next, mail, { ...limits, confirmed }));
  }
  return attempted;
};

const sendMail = async (
  parts: Deliver,
  claim: SuccessfulClaim,
  mail: OutgoingMail,
  { begun, confirmed, signal }: Limits & { readonly confirmed: Moment },
): Promise<DeliveryAttempt> => {
  const { times, system, transports } = parts;
  const { state } = claim.message;
  const recipientIds = new Set(mail.envelope.to.map(({ recipientId }) => recipientId));
  const beganMs = system.monotonicMs();
  const completion = completionOf(parts, { claim, recipientIds, begun, confirmed, signal });
  try {
    const recipientOutcomes = await transports[state.environment].send(mail, {
      deadlineMs: begun.monotonicMs + times.attemptMs,
      signal,
      mayComplete: completion.mayComplete,
    });
    const reported = reportOf(state, recipientOutcomes, { ...system, stopping: signal.aborted });
    const tookMs = system.monotonicMs() - beganMs;
    if (isLive(state)) countOutcomes(parts.metrics, reported.outcomes, tookMs);
    logAttempt(parts.logger, state, { attempt: claim.attempt, outcomes: reported.outcomes, tookMs });
    return { claim, reported, outcomes: reported.outcomes, tookMs };
  } catch (error) {
    return notSent(parts, claim, [...recipientIds], error);
  } finally {
    completion.ended();
  }
};
