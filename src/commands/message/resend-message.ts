import type { Caller } from '../../domain/api-key/caller.ts';
import { requireOwn } from '../../domain/kernel/aggregate.ts';
import { keyedDigest } from '../../domain/kernel/digest.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import { acceptMessage } from '../../domain/message/accept-message.ts';
import type { MessageDraft } from '../../domain/message/draft.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import { resendMessage as decideResendMessage, unreachedRecipients } from '../../domain/message/resend-message.ts';
import { type Contents, findingsOf, isRemoved, type MessageBody } from '../../domain/ports/contents.ts';
import type { ExistingTopic } from '../../domain/topic/topic.ts';
import { NO_TRACKING } from '../../domain/tracking/tracking.ts';
import {
  type Change,
  type CommandContext,
  eventContext,
  execute,
  load,
  type Origin,
  requireRevision,
  retryConflicts,
} from '../execute.ts';
import { organizationSecret } from '../organization.ts';
import { suppressedRecipients } from './attempt.ts';
import { billableOf, enforceQuota, withRefusal } from './enforce-quota.ts';
import { prepareMessage, type SendRequest } from './prepare-message.ts';
import { acceptPrepared, newMessageId, type SentMessage } from './send-message.ts';

/**
 * Sends a message again. The old message reserves the recipients by an event, then the new one is accepted. A process that
 * ends between the two leaves a reservation without a message; the next request accepts that message.
 */

interface ResendMessage extends Change<Message> {
  readonly messageId: string;
  /** Ids of recipients; null: all that the message did not reach. */
  readonly recipientIds: readonly string[] | null;
  /** Send to the others if some are suppressed. */
  readonly skipSuppressed: boolean;
  /** Topic of the message, or why it cannot have that topic. Absent: none. */
  readonly topic?: ExistingTopic | DomainError;
}

/** Content that can be sent again. @throws {DomainError} `content_removed`, `unavailable`. */
const resendableContent = async (contents: Contents, { accepted }: ExistingMessage): Promise<MessageBody> => {
  const { contentId } = accepted;
  const found = (await contents.get([contentId])).get(contentId);
  if (found?.kind === 'message') {
    if (found.confidential === undefined) return found;
    throw new DomainError('content_removed', 'the message contains a sign-in link, which is sent only once');
  }
  if (found === undefined || !isRemoved(found))
    throw new DomainError('unavailable', 'the content of the message cannot be read at the moment: try again');
  const why = found.kind === 'erased' ? 'was erased' : 'was removed when its retention ended';
  throw new DomainError('content_removed', `the content of the message ${why}, at ${found.at}`);
};

const MS_PER_SECOND = 1000;

/** The same mail for some of its recipients. The others are not named in its headers: an erasure would not find them. */
const draftOf = (original: ExistingMessage, body: MessageBody, recipientIds: readonly string[]): MessageDraft => {
  const { kind: _, messageId, recipients, analysis: __, findings: ___, salts: ____, shown: _____, ...content } = body;
  const { stream, template, trial, tracking = NO_TRACKING } = original.accepted;
  return {
    ...content,
    recipients: recipients.filter(({ id }) => recipientIds.includes(id)).map(({ id: _id, ...mailbox }) => mailbox),
    stream,
    ttlSeconds: Math.max(1, Math.ceil(original.timeToLiveMs / MS_PER_SECOND)),
    tracking,
    ...(template === undefined ? {} : { template }),
    ...(trial === undefined ? {} : { trial }),
    resendOf: messageId,
  };
};

const suppressedError = (suppressed: ReadonlyMap<string, string>, of: number): DomainError => {
  const verb = suppressed.size === 1 ? 'is' : 'are';
  return new DomainError(
    'recipient_suppressed',
    of === 1
      ? 'the only recipient left is suppressed'
      : `${suppressed.size} of ${of} recipients to send to again ${verb} suppressed`,
    {
      details: { recipient_ids: [...suppressed].map(([id, reason]) => `${id}: ${reason}`) },
    },
  );
};

interface Resending {
  readonly context: CommandContext;
  readonly origin: Origin;
  readonly sender: Caller;
  readonly original: ExistingMessage;
  readonly topic: ExistingTopic | DomainError | undefined;
}

/**
 * Accepts the new message, if it was not accepted before.
 * @param reserve called once it is known to be acceptable. @returns false: another request came first.
 */
const acceptNew = async (
  { context, origin, sender, original, topic }: Resending,
  { newId, recipientIds }: { readonly newId: string; readonly recipientIds: readonly string[] },
  reserve: () => Promise<boolean>,
): Promise<SentMessage | null> => {
  const { system, secrets, contents } = context;
  const secret = await organizationSecret(secrets, sender.organizationId);
  const body = await resendableContent(contents, original);
  const request: SendRequest = {
    draft: draftOf(original, body, recipientIds),
    findings: findingsOf(body),
    ...(topic === undefined ? {} : { topic }),
  };
  const identity = {
    messageId: newId,
    bodyDigest: keyedDigest(secret, 'resend', `${original.accepted.messageId} ${newId}`),
    idempotent: false,
  };
  const quota = await enforceQuota(context, sender, [billableOf(request)]);
  let accepted = 0;
  try {
    const limited = withRefusal(request, quota.refusals[0] ?? null);
    const prepared = await prepareMessage(system, { caller: sender, secret }, identity, limited);
    acceptMessage(message.initial, prepared.accept);
    if (!(await reserve())) return null;
    const sent = await acceptPrepared(context, origin, prepared);
    accepted = sent.replayed ? 0 : billableOf(request);
    return sent;
  } finally {
    quota.settle(accepted);
  }
};

/** The message that a reservation names. */
const reserved = async (resending: Resending, newId: string): Promise<SentMessage> => {
  const { context, original, sender } = resending;
  const { state } = await load(context.store, message, messageStream(newId));
  if (state.status !== 'absent') {
    const sent = requireOwn(state, sender.organizationId, 'message');
    return { message: sent, body: await resendableContent(context.contents, sent), replayed: true };
  }
  const recipientIds = original.recipients.filter(({ resentAs }) => resentAs === newId).map(({ id }) => id);
  const sent = await acceptNew(resending, { newId, recipientIds }, async () => true);
  return sent as SentMessage; // the reservation is made
};

const reserve = async (
  { context, origin, original }: Resending,
  recipientIds: readonly string[],
  resentAs: string,
): Promise<boolean> => {
  const { organizationId } = origin;
  const { events } = await execute(context, {
    aggregate: message,
    stream: messageStream(original.accepted.messageId),
    context: eventContext(origin, context.system.now().toISOString()),
    decide: (before) => decideResendMessage(before, { organizationId, recipientIds, resentAs }),
  });
  return events.length > 0;
};

/**
 * One try to send again.
 * @returns null: another request was first to send to one of the recipients.
 */
const tryResend = async (
  resending: Resending,
  { recipientIds, skipSuppressed }: Pick<ResendMessage, 'recipientIds' | 'skipSuppressed'>,
): Promise<SentMessage | null> => {
  const { context, original } = resending;
  const unreached = unreachedRecipients(original, recipientIds);
  let sent: SentMessage | null = null;
  for (const newId of new Set(unreached.flatMap(({ resentAs }) => resentAs ?? []))) {
    sent = await reserved(resending, newId);
  }
  const waiting = unreached.filter(({ resentAs }) => resentAs === null).map(({ id }) => id);
  const suppressed = await suppressedRecipients(context, original, waiting);
  const chosen = waiting.filter((id) => !suppressed.has(id));
  const isDone = chosen.length === 0 && sent !== null;
  if (suppressed.size > 0 && !(skipSuppressed && (isDone || chosen.length > 0)))
    throw suppressedError(suppressed, waiting.length);
  if (isDone) return sent;
  const newId = newMessageId(context.system);
  return acceptNew(resending, { newId, recipientIds: chosen }, () => reserve(resending, chosen, newId));
};

/**
 * Sends a message again to recipients that it did not reach. Those that were sent to again before are not sent to a third
 * time: if there are no others, the message of that time is returned.
 * @throws {DomainError} `not_found`, `other_organization`, `nothing_to_resend`, `recipient_suppressed`, `content_removed`,
 * and those of `sendMessage`.
 */
export const resendMessage = (
  context: CommandContext,
  origin: Origin,
  sender: Caller,
  { messageId, topic, ...command }: ResendMessage,
): Promise<SentMessage> => {
  let { known } = command;
  return retryConflicts(async () => {
    const loaded = known ?? (await load(context.store, message, messageStream(messageId)));
    known = undefined;
    requireRevision(command, loaded);
    const original = requireOwn(loaded.state, origin.organizationId, 'message');
    return tryResend({ context, origin, sender, original, topic }, command);
  });
};
