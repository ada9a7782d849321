import { recordAttempt } from '../../commands/message/attempt.ts';
import { askedWaitSeconds, classifyReply } from '../../domain/bounce/classify.ts';
import type { BounceCategory } from '../../domain/bounce/reply-words.ts';
import { isOwnDestination } from '../../domain/destination/suspension.ts';
import { AppendOutcomeUnknown, type EventStore } from '../../domain/kernel/event-store.ts';
import { random } from '../../domain/kernel/jitter.ts';
import { type AttemptOutcome, REFUSED } from '../../domain/message/attempt.ts';
import { boundReply } from '../../domain/message/draft.ts';
import type { SmtpFacts } from '../../domain/message/events.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import type { Contents, MessageContents } from '../../domain/ports/contents.ts';
import type { RecipientOutcome } from '../../domain/ports/mail.ts';
import { retryBy, StoreUnavailable, type System } from '../../lib/async/async.ts';
import { SALT_BYTES } from '../../lib/transparency/transparency.ts';
import type { AttemptTimes, SuccessfulClaim } from './claim.ts';
import type { UnrecordedOutcomes } from './unrecorded-outcomes.ts';

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
const STOPPING = 'the service was stopping';

/** True if a mail server replied, so that its text can be quoted. */
const wasReceived = ({ code }: Reply): boolean => code > 0;

const bounceReason = (reply: Reply): string => (wasReceived(reply) ? REFUSED : UNDELIVERABLE);

/** False if the recipient domain's own DNS or policy prevented the attempt: it is then reported as its own destination (`mail-transport.ts`). */
const wasTried = ({ destination, address }: Reply): boolean =>
  typeof address === 'string' || !isOwnDestination(destination ?? '');

const deferralReason = (reply: Reply, stopping: boolean): string => {
  if (wasReceived(reply)) return LATER;
  if (stopping) return STOPPING;
  return FINDINGS[reply.enhanced ?? ''] ?? (wasTried(reply) ? NOT_REACHED : NOT_TRIED);
};

/** undefined: the attempt was aborted by a shutdown and says nothing about the mail server. */
const categoryOf = (reply: Reply, stopping: boolean): BounceCategory | undefined => {
  if (wasReceived(reply)) return classifyReply(reply);
  if (stopping) return undefined;
  const category = classifyReply(reply);
  return category === 'unknown' ? 'network' : category;
};

const factsOf = (reply: Reply, replyId: string, replyRoot: string): SmtpFacts => {
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
    replyRoot,
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
  { uuid, randomBytes, stopping }: Pick<System, 'uuid' | 'randomBytes'> & { readonly stopping: boolean },
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
    const reported = outcomeOf(each, factsOf(each, id, root), stopping);
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
    smtp: { code: 0, enhanced: null, mx: null, tls: null, replyId: null },
  })),
});

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
  { claim, reported }: { readonly claim: SuccessfulClaim; readonly reported: AttemptReport },
): Promise<SuccessfulClaim['message']> => {
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
