import { recordAttempt } from '../../commands/message/record-attempt.ts';
import { type Claim, startAttempt } from '../../commands/message/start-attempt.ts';
import type { Contents, MessageBody } from '../../domain/contents.ts';
import type { Environment } from '../../domain/environment.ts';
import type { EventStore } from '../../domain/event-store.ts';
import type { Logger } from '../../domain/logger.ts';
import type { MailTransport, OutgoingMail } from '../../domain/mail-transport.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { System } from '../../domain/system.ts';
import { chance } from '../chance.ts';
import type { Gate } from '../gate.ts';
import { persistently } from '../persistently.ts';
import { postponed, type Reported, reportOf } from './outcomes.ts';

/** How long an attempt may take, and how long nobody else may make one. */
export interface AttemptTimes {
  /** No final dot leaves later than this after the claim. */
  readonly attemptMs: number;
  /** Longer than `attemptMs` by what recording the outcome may take. */
  readonly leaseMs: number;
}

export interface DeliverMessageParts {
  readonly store: EventStore;
  readonly contents: Contents;
  readonly transports: Readonly<Record<Environment, MailTransport>>;
  readonly times: AttemptTimes;
  readonly system: System;
  readonly logger: Logger;
}

export interface DeliverMessage extends DeliverMessageParts {
  /** How much of messages may be in memory, by `sizeBytes`. */
  readonly bytesInHand: Gate;
}

/** An attempt that was claimed and made; it is not over before it is recorded. */
export interface Attempted {
  readonly claim: Claimed;
  readonly reported: Reported;
}

type Claimed = Extract<Claim, { claimed: true }>;

/** null: it is not due, or in somebody else's hands. */
const claimAttempt = async (deps: DeliverMessage, messageId: string): Promise<Claimed | null> => {
  const { times, system } = deps;
  try {
    const claim = await startAttempt(deps, { messageId, leaseMs: times.leaseMs, chance: chance(system) });
    return claim.claimed ? claim : null;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
};

const loadBody = async ({ contents, system }: DeliverMessage, { message }: Claimed): Promise<MessageBody> => {
  const { contentId } = message.state.accepted;
  const body = (await persistently(system, () => contents.get([contentId]))).get(contentId);
  if (body?.kind !== 'message') throw new Error(`the vault holds no contents ${contentId}`);
  return body;
};

const mailOf = ({ message: { state }, recipientIds }: Claimed, body: MessageBody): OutgoingMail => ({
  envelope: {
    from: body.from.address,
    to: body.recipients
      .filter(({ id }) => recipientIds.includes(id))
      .map(({ id, address }) => ({ recipientId: id, address })),
  },
  messageId: state.accepted.internetMessageId,
  body,
  date: new Date(state.acceptedAt),
  attempt: state.attempts,
});

const send = async (
  deps: DeliverMessage,
  claim: Claimed,
  { deadlineMs, signal }: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<Reported> => {
  const { state } = claim.message;
  const mail = mailOf(claim, await loadBody(deps, claim));
  const outcomes = await deps.transports[state.environment].send(mail, { deadlineMs, signal });
  return reportOf(state, outcomes, { uuid: deps.system.uuid, stopping: signal.aborted });
};

/**
 * Claims a message's next attempt and makes it. Contents that are missing and mail that cannot be built are faults of
 * ours: an alarm, and another try later, never the end of a message.
 * @returns null: there was nothing to do.
 */
export const attemptMessage = async (
  deps: DeliverMessage,
  messageId: string,
  signal: AbortSignal,
): Promise<Attempted | null> => {
  const deadlineMs = deps.system.monotonicMs() + deps.times.attemptMs;
  const claim = await claimAttempt(deps, messageId);
  if (claim === null) return null;
  try {
    const { sizeBytes } = claim.message.state.accepted;
    const reported = await deps.bytesInHand.run(sizeBytes, () => send(deps, claim, { deadlineMs, signal }));
    return { claim, reported };
  } catch (error) {
    deps.logger.error({ messageId, err: error }, 'a message could not be sent: it is tried again later');
    return { claim, reported: postponed(claim.recipientIds, 'a fault of the sending service') };
  }
};

/**
 * Records what an attempt came to. When that fails for good the attempt is in doubt until its lease ends: the one
 * window in which a recipient can get a second copy (with the same Message-ID).
 */
export const recordOutcome = async (deps: DeliverMessage, { claim, reported }: Attempted): Promise<void> => {
  const { system } = deps;
  await persistently(system, () =>
    recordAttempt(deps, { message: claim.message, ...reported, chance: chance(system) }),
  );
};
