import { requireOwn } from '../../domain/kernel/aggregate.ts';
import type { MessageEvent } from '../../domain/kernel/events.ts';
import { messageStream, suppressionStream } from '../../domain/kernel/streams.ts';
import {
  cancelMessage as decideCancel,
  rescheduleMessage as decideReschedule,
} from '../../domain/message/accept-message.ts';
import {
  type AttemptOutcome,
  claimable,
  claimAttempt as decideClaimAttempt,
  recordAttempt as decideRecordAttempt,
  type Hold,
  SANDBOX_DOMAIN,
} from '../../domain/message/attempt.ts';
import { type ExistingMessage, isOpen, type Message, message, type Recipient } from '../../domain/message/message.ts';
import type { MessageContents } from '../../domain/ports/contents.ts';
import type { SuppressionReason } from '../../domain/suppression/events.ts';
import {
  hasOptedIn,
  type Suppression,
  strongestEntry,
  suppression,
  suppressionId,
} from '../../domain/suppression/suppression.ts';
import {
  type Change,
  type CommandContext,
  eventContext,
  execute,
  internalOrigin,
  type LoadedStream,
  load,
  type Origin,
} from '../execute.ts';

/** A delivery attempt: who is due and not suppressed, the claim that one worker gets, and what came of it. */

/** A claimed message, or none. */
export type Claim =
  | {
      readonly claimed: true;
      readonly message: LoadedStream<ExistingMessage>;
      readonly attempt: number;
      readonly recipientIds: readonly string[];
      readonly events: readonly MessageEvent[];
    }
  /** `events`: what was recorded instead. */
  | { readonly claimed: false; readonly events: readonly MessageEvent[] };

/** Workers act on a message for the organization it belongs to. */
export const workerOrigin = ({ organizationId, environment, accepted }: ExistingMessage, job: string): Origin =>
  internalOrigin({ actor: `worker:${job}`, organizationId, environment, causeId: accepted.messageId });

type AttemptStartedEvent = Extract<MessageEvent, { type: 'AttemptStarted' }>;
const isStarted = (event: MessageEvent): event is AttemptStartedEvent => event.type === 'AttemptStarted';

export interface ClaimAttempt {
  readonly messageId: string;
  /** Only recipients of this domain. Absent: all. */
  readonly destination?: string | undefined;
  /** How long no other worker may send; longer than any attempt takes. */
  readonly leaseMs: number;
  /** In [0, 1). */
  readonly random: number;
  /** Actor that deleted the sending domain; null: it is not deleted. Absent: it never is. */
  domainDeletedBy?(message: ExistingMessage): string | null;
  /** Why due recipients must wait; null: they need not. Absent: none must. */
  holdOf?(message: ExistingMessage, recipients: readonly Recipient[]): Promise<Hold | null> | Hold | null;
  /** Lost attempts are left alone. Default: they are recorded. */
  readonly leavesLost?: boolean;
  /** Whether a claim was written is asked until this aborts. Default: for some hundred milliseconds. */
  readonly patience?: AbortSignal | undefined;
  /** The message as loaded before, possibly stale: saves the read. */
  readonly known?: LoadedStream<Message> | undefined;
}

/** Claims the next attempt by appending `AttemptStarted` at the revision read, so one worker gets it. */
export const claimAttempt = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { messageId, destination, leaseMs, random, domainDeletedBy, holdOf, leavesLost = false, ...at }: ClaimAttempt,
): Promise<Claim> => {
  const stream = messageStream(messageId);
  const known = at.known ?? (await load(context.store, message, stream));
  if (known.state.status === 'absent') return { claimed: false, events: [] };
  const now = context.system.now();
  const leaseUntil = new Date(now.getTime() + leaseMs).toISOString();
  const deletedBy = domainDeletedBy?.(known.state) ?? null;
  const domainDeleted = deletedBy !== null;
  const worker = workerOrigin(known.state, 'deliver-message');
  const open = known.state.recipients.filter(
    ({ status, domain }) => isOpen(status) && (destination === undefined || domain === destination),
  );
  const suppressed = await suppressedRecipients(
    context,
    known.state,
    open.map(({ id }) => id),
  );
  const due = claimable(known.state, { destination, now: now.toISOString(), domainDeleted, suppressed });
  const held = due.length === 0 ? null : ((await holdOf?.(known.state, due)) ?? null);
  const { state, revision, events } = await execute(context, {
    aggregate: message,
    stream,
    context: eventContext({ ...worker, actor: deletedBy ?? worker.actor }, now.toISOString()),
    decide: (before) =>
      decideClaimAttempt(before, {
        destination,
        now: now.toISOString(),
        leaseUntil,
        random,
        domainDeleted,
        suppressed,
        held,
        leavesLost,
      }),
    known,
    patience: at.patience,
  });
  const started = events.find(isStarted);
  if (started === undefined || state.status === 'absent') return { claimed: false, events };
  const { attempt, recipientIds } = started.data;
  return { claimed: true, message: { state, revision }, attempt, recipientIds, events };
};

const SENTENCES: Readonly<Record<SuppressionReason, string>> = {
  bounce: 'the address is suppressed: an earlier message to it bounced',
  complaint: 'the address is suppressed: the recipient complained about an earlier message',
  unsubscribe: 'the address is suppressed: the recipient unsubscribed',
  manual: 'the address is suppressed: it was added to the list',
  import: 'the address is suppressed: it was imported into the list',
};

/** Why the address is suppressed for this message, in a sentence; null: it is not. */
const reasonOf = (state: Suppression, { accepted: { stream, topic } }: ExistingMessage, now: string): string | null => {
  const entry = strongestEntry(state, { stream, topicId: topic?.id ?? null }, now);
  if (entry !== null)
    return entry.scope === 'topic' ? `${SENTENCES[entry.reason]} (${entry.topicId})` : SENTENCES[entry.reason];
  if (topic?.default !== 'out' || hasOptedIn(state, topic.id)) return null;
  return `the recipient has not opted in to topic ${topic.id}, which requires an opt-in`;
};

/** The fate of a sandbox address is in its name, at every message again. */
const isForced = ({ environment }: ExistingMessage, domain: string): boolean =>
  environment === 'test' && domain === SANDBOX_DOMAIN;

/**
 * Recipients that are suppressed according to the log at this moment, each with the reason in a sentence.
 * Concurrent reads share a query.
 */
export const suppressedRecipients = async (
  { store, system }: Pick<CommandContext, 'store' | 'system'>,
  message: ExistingMessage,
  recipientIds: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const { environment, accepted } = message;
  const wanted = accepted.recipients.filter(
    ({ id, domain }) => recipientIds.includes(id) && !isForced(message, domain),
  );
  const found = await Promise.all(
    wanted.map(async ({ id, digest }): Promise<readonly (readonly [string, string])[]> => {
      const { state } = await load(store, suppression, suppressionStream(suppressionId(environment, digest)));
      const reason = reasonOf(state, message, system.now().toISOString());
      return reason === null ? [] : [[id, reason]];
    }),
  );
  return new Map(found.flat());
};

interface RecordAttempt {
  /** The message as claimed, which saves reading it again. */
  readonly message: LoadedStream<ExistingMessage>;
  /** Number of the claimed attempt. A message that is read again may be in another worker's attempt. */
  readonly attempt: number;
  readonly outcomes: readonly AttemptOutcome[];
  /** Texts of the replies that the outcomes name. */
  readonly replies: readonly MessageContents[];
  /** In [0, 1). */
  readonly random: number;
}

/**
 * Records the outcome of the claimed attempt. Nothing is written if the claim has been lost.
 * @returns the message afterwards.
 */
export const recordAttempt = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  { message: claimed, attempt, outcomes, replies, random }: RecordAttempt,
): Promise<LoadedStream<ExistingMessage>> => {
  const now = context.system.now().toISOString();
  const { state, revision } = await execute<Message, Parameters<typeof message.evolve>[1]>(context, {
    aggregate: message,
    stream: messageStream(claimed.state.accepted.messageId),
    context: eventContext(workerOrigin(claimed.state, 'deliver-message'), now),
    contents: replies,
    isUrgent: true,
    decide: (before) => decideRecordAttempt(before, { attempt, outcomes, now, random }),
    known: claimed,
  });
  return state.status === 'absent' ? claimed : { state, revision };
};

/** Use cases by which a customer changes an accepted message: cancel it, or give it another time. */

export interface ChangedMessage {
  readonly message: ExistingMessage;
  readonly revision: number;
}

type ChangeContext = Pick<CommandContext, 'store' | 'system'>;

interface ChangeMessage extends Change<Message> {
  readonly messageId: string;
}

type Decide = (
  before: Message,
  by: { readonly organizationId: string; readonly now: string },
) => readonly MessageEvent[];

const changeMessage = async (
  context: ChangeContext,
  origin: Origin,
  { messageId, ...condition }: ChangeMessage,
  decide: Decide,
): Promise<ChangedMessage> => {
  const { organizationId } = origin;
  const now = context.system.now().toISOString();
  const { state, revision } = await execute(context, {
    aggregate: message,
    stream: messageStream(messageId),
    context: eventContext(origin, now),
    decide: (before) => decide(before, { organizationId, now }),
    ...condition,
  });
  return { message: requireOwn(state, organizationId, 'message'), revision: Number(revision) };
};

/**
 * Cancels a message, possible until an attempt is claimed. Claim and cancellation are appended at the revision read, so
 * one of them is first and the other sees it.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `precondition_failed`.
 */
export const cancelMessage = (
  context: ChangeContext,
  origin: Origin,
  command: ChangeMessage,
): Promise<ChangedMessage> => changeMessage(context, origin, command, decideCancel);

/** Cancels some recipients of a message; the others still get theirs. @throws {DomainError} as `cancelMessage`. */
export const cancelRecipients = (
  context: ChangeContext,
  origin: Origin,
  {
    recipientIds,
    reason,
    ...command
  }: ChangeMessage & { readonly recipientIds: readonly string[]; readonly reason: string },
): Promise<ChangedMessage> =>
  changeMessage(context, origin, command, (before, by) =>
    decideCancel(before, { ...by, only: { recipientIds, reason } }),
  );

interface RescheduleMessage extends ChangeMessage {
  /** ISO 8601. */
  readonly scheduledAt: string;
}

/**
 * Gives a scheduled message another time.
 * @throws {DomainError} `not_found`, `other_organization`, `message_being_sent`, `message_ended`, `message_not_scheduled`,
 * `schedule_not_possible`, `precondition_failed`.
 */
export const rescheduleMessage = (
  context: ChangeContext,
  origin: Origin,
  { scheduledAt, ...command }: RescheduleMessage,
): Promise<ChangedMessage> =>
  changeMessage(context, origin, command, (before, by) => decideReschedule(before, { ...by, scheduledAt }));
