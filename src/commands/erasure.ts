/** Use cases of erasures: a request is recorded, what it concerns is found, and its end is recorded. */

import { customerEvents } from '../domain/customer-events/customer-events.ts';
import {
  completeErasure as decideCompleteErasure,
  requestErasure as decideRequestErasure,
  type ErasureCounts,
  type ExistingErasure,
  erasure,
  erasureId,
  requireErasure,
} from '../domain/erasure/erasure.ts';
import { fold, requireOwn } from '../domain/kernel/aggregate.ts';
import { type Environment, environmentSchema } from '../domain/kernel/environment.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { RecordedEvent } from '../domain/kernel/event-store.ts';
import { isId } from '../domain/kernel/ids.ts';
import { erasureStream, inboundStream, messageStream, suppressionStream } from '../domain/kernel/streams.ts';
import { isOpen, message } from '../domain/message/message.ts';
import type { Contents, ErasedContent, Going } from '../domain/ports/contents.ts';
import { deliveryId } from '../domain/ports/webhooks.ts';
import { suppressionId } from '../domain/suppression/suppression.ts';
import {
  type CommandContext,
  eventContext,
  execute,
  internalOrigin,
  type LoadedStream,
  load,
  type Origin,
  readWholeStream,
} from './execute.ts';
import { cancelRecipients } from './message/attempt.ts';
import { organizationSecret } from './organization.ts';
import { addressDigest, recordSuppression } from './suppression.ts';

type Context = Pick<CommandContext, 'store' | 'system'>;

export interface ErasureAtRevision {
  readonly erasure: ExistingErasure;
  readonly revision: LoadedStream<unknown>['revision'];
}

/** How an address is known to the log. */
export const digestOfAddress = async (
  { secrets }: Pick<CommandContext, 'secrets'>,
  organizationId: string,
  address: string,
): Promise<string> => addressDigest(await organizationSecret(secrets, organizationId), address);

export interface RequestErasure extends Pick<ExistingErasure, 'reason' | 'suppress'> {
  readonly address: string;
}

/** Requests the erasure of an address. While one runs it is the answer to all requests. @throws {DomainError} `resource_conflict`. */
export const requestErasure = async (
  context: Pick<CommandContext, 'store' | 'secrets' | 'system'>,
  origin: Origin,
  { address, reason, suppress }: RequestErasure,
): Promise<ErasureAtRevision> => {
  const { organizationId } = origin;
  const digest = await digestOfAddress(context, organizationId, address);
  for (let number = 1; ; number += 1) {
    const id = erasureId(digest, number);
    const { state, revision } = await execute(context, {
      aggregate: erasure,
      stream: erasureStream(id),
      context: eventContext({ ...origin, environment: null }, context.system.now().toISOString()),
      decide: (before) => decideRequestErasure(before, { erasureId: id, digest, reason, suppress }),
    });
    const found = requireErasure(state, organizationId);
    if (found.status !== 'completed') return { erasure: found, revision };
  }
};

/** @throws {DomainError} `not_found`, `other_organization`. */
export const loadErasure = async (
  { store }: Pick<CommandContext, 'store'>,
  organizationId: string,
  id: string,
): Promise<ErasureAtRevision> => {
  if (!isId('ers', id)) throw new DomainError('not_found', 'erasure not found');
  const { state, revision } = await load(store, erasure, erasureStream(id));
  return { erasure: requireErasure(state, organizationId), revision };
};

/** Origin of commands that a running erasure issues. */
export const erasureOrigin = ({ erasureId, organizationId }: ExistingErasure): Origin =>
  internalOrigin({ actor: 'worker:erase-people', organizationId, causeId: erasureId });

/** Records that nothing is left. Repeating it changes nothing. */
export const completeErasure = async (
  context: Context,
  running: ExistingErasure,
  counts: ErasureCounts,
): Promise<void> => {
  await execute(context, {
    aggregate: erasure,
    stream: erasureStream(running.erasureId),
    context: eventContext(erasureOrigin(running), context.system.now().toISOString()),
    decide: (state) => decideCompleteErasure(state, counts),
  });
};

/** Suppresses the address, which the list stores only as a digest. Repeating it has no effect. */
export const suppressErased = async (context: Context, running: ExistingErasure): Promise<void> => {
  await recordSuppression(context, erasureOrigin(running), {
    environment: 'live',
    digest: running.digest,
    address: null,
    reason: 'manual',
    scope: 'all',
    expiresAt: null,
    text: null,
    source: null,
    causedAt: null,
  });
};

/** Webhooks of the organization, deleted ones too, with the replays they have had. */
export interface Endpoint {
  readonly webhookId: string;
  readonly replayIds: readonly string[];
}

/** The person whose data is searched. */
export interface Person extends Pick<ExistingErasure, 'organizationId' | 'digest'> {
  readonly endpoints: readonly Endpoint[];
}

/** Data to remove. Messages that have not ended for all recipients are waited for. */
export interface ErasableData extends Pick<Going, 'contentIds' | 'recipientIds' | 'deliveryIds' | 'mail'> {
  readonly waitingMessages: number;
}

export const NOTHING_FOUND: ErasableData = {
  contentIds: [],
  recipientIds: [],
  deliveryIds: [],
  mail: [],
  waitingMessages: 0,
};

export const together = (found: readonly ErasableData[]): ErasableData => ({
  contentIds: found.flatMap(({ contentIds }) => contentIds),
  recipientIds: found.flatMap(({ recipientIds }) => recipientIds),
  deliveryIds: found.flatMap(({ deliveryIds }) => deliveryIds),
  mail: found.flatMap(({ mail }) => mail),
  waitingMessages: found.reduce((sum, { waitingMessages }) => sum + waitingMessages, 0),
});

const contentIdsIn = ({ data }: RecordedEvent): readonly string[] => [
  ...('contentId' in data ? [data.contentId] : []),
  ...('rawId' in data ? [data.rawId] : []),
  ...('smtp' in data && typeof data.smtp?.replyId === 'string' ? [data.smtp.replyId] : []),
  ...('linkId' in data ? [data.linkId] : []),
];

/** Deliveries that these events can have caused. */
const deliveryIdsOf = (events: readonly RecordedEvent[], endpoints: readonly Endpoint[]): readonly string[] => {
  const eventIds = events.flatMap(customerEvents).map(({ id }) => id);
  return endpoints.flatMap(({ webhookId, replayIds }) =>
    [undefined, ...replayIds].flatMap((replayId) => eventIds.map((id) => deliveryId(webhookId, id, replayId))),
  );
};

const inStream = (events: readonly RecordedEvent[], { endpoints }: Person) => ({
  contentIds: [...new Set(events.flatMap(contentIdsIn))],
  deliveryIds: deliveryIdsOf(events, endpoints),
});

/** A page of messages to an address, newest first. */
export type MessagesTo = (by: {
  readonly organizationId: string;
  readonly environment: Environment;
  readonly digest: string;
  readonly after: MessageCursor | null;
}) => Promise<{ readonly messageIds: readonly string[]; readonly next: MessageCursor | null }>;

interface MessageCursor {
  readonly createdAt: string;
  readonly id: string;
}

/** Ids of all messages to an address, in both environments, page by page. */
export async function* pagesTo(
  messagesTo: MessagesTo,
  { organizationId, digest }: Pick<Person, 'organizationId' | 'digest'>,
): AsyncGenerator<readonly string[]> {
  for (const environment of environmentSchema.options) {
    let after: MessageCursor | null = null;
    do {
      const page: Awaited<ReturnType<MessagesTo>> = await messagesTo({ organizationId, digest, environment, after });
      yield page.messageIds;
      after = page.next;
    } while (after !== null);
  }
}

/** Data in a message: the whole body, which all recipients share, but not the addresses of the others. */
export const findInMessage = async (
  { store }: Pick<CommandContext, 'store'>,
  person: Person,
  messageId: string,
): Promise<ErasableData> => {
  const events = await readWholeStream(store, messageStream(messageId));
  const state = fold(message, events);
  if (state.status === 'absent') return NOTHING_FOUND;
  const { accepted, recipients } = requireOwn(state, person.organizationId, 'message');
  if (recipients.some(({ status }) => isOpen(status))) return { ...NOTHING_FOUND, waitingMessages: 1 };
  const { internetMessageId, fromDomain } = accepted;
  const own = accepted.recipients.filter(({ digest }) => digest === person.digest);
  return {
    ...inStream(events, person),
    recipientIds: own.map(({ id }) => id),
    mail: [{ internetMessageId, fromDomain }],
    waitingMessages: 0,
  };
};

/** A page of ids of inbound messages from or to an address, in both environments; empty: there are no more. */
export type InboundOf = (by: {
  readonly organizationId: string;
  readonly digest: string;
  /** Id of the last one of the page before; empty: from the start. */
  readonly after: string;
}) => Promise<readonly string[]>;

/** Data in the inbound messages from or to the person, page by page. A message is removed as a whole. */
export async function* findInInbound(
  { store }: Pick<CommandContext, 'store'>,
  inboundOf: InboundOf,
  person: Person,
): AsyncGenerator<ErasableData> {
  const { organizationId, digest } = person;
  let ids = await inboundOf({ organizationId, digest, after: '' });
  while (ids.length > 0) {
    const streams = await Promise.all(ids.map((id) => readWholeStream(store, inboundStream(id))));
    yield { ...NOTHING_FOUND, ...inStream(streams.flat(), person) };
    ids = await inboundOf({ organizationId, digest, after: ids.at(-1) ?? '' });
  }
}

/** Addresses and evidence on the lists of both environments. */
export const findInSuppressions = async (
  { store }: Pick<CommandContext, 'store'>,
  person: Person,
): Promise<ErasableData> => {
  const streams = environmentSchema.options.map((each) => suppressionStream(suppressionId(each, person.digest)));
  const events = (await Promise.all(streams.map((stream) => readWholeStream(store, stream)))).flat();
  return { ...NOTHING_FOUND, ...inStream(events, person) };
};

/**
 * Cancels what has not been sent to the person; other recipients of the message still get theirs.
 * Attempts in flight are not interrupted.
 */
export const cancelForErased = async (context: Context, running: ExistingErasure, messageId: string): Promise<void> => {
  const { state } = await load(context.store, message, messageStream(messageId));
  if (state.status === 'absent') return;
  const recipientIds = state.accepted.recipients.filter(({ digest }) => digest === running.digest).map(({ id }) => id);
  const isWaiting = state.recipients.some(({ id, status }) => recipientIds.includes(id) && isOpen(status));
  if (!isWaiting) return;
  const origin = { ...erasureOrigin(running), environment: state.environment };
  await cancelRecipients(context, origin, {
    messageId,
    recipientIds,
    reason: 'cancelled: its recipient is erased',
  }).catch((error: unknown) => {
    if (!(error instanceof DomainError)) throw error;
  });
};

/**
 * The record to store in place of what comes to be known later about a message that was erased, such as a bounce that
 * quotes the address; null: it was not.
 */
export const erasedRecord = async (
  contents: Pick<Contents, 'heads'>,
  contentId: string,
): Promise<ErasedContent | null> => {
  const found = (await contents.heads([contentId])).get(contentId);
  return found?.kind === 'erased' ? { kind: 'erased', at: found.at, erasureId: found.erasureId } : null;
};
