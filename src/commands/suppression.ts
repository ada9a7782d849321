import { keyedDigest } from '../domain/kernel/digest.ts';
import type { Environment } from '../domain/kernel/environment.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import type { Position } from '../domain/kernel/event-store.ts';
import { messageStream, suppressionStream } from '../domain/kernel/streams.ts';
import { message } from '../domain/message/message.ts';
import type { Contents, StoredHead } from '../domain/ports/contents.ts';
import type { SuppressionReason, SuppressionScope } from '../domain/suppression/events.ts';
import {
  addSuppression as decideAddSuppression,
  removeSuppression as decideRemoveSuppression,
  type ExistingSuppression,
  hasOptedIn,
  requireSuppression,
  type SuppressingEvent,
  type Suppression,
  type SuppressionEntry,
  suppression,
  suppressionFor,
  suppressionId,
} from '../domain/suppression/suppression.ts';
import { mapConcurrently } from '../lib/async/async.ts';
import { canonicalAddress } from '../lib/mime/mime.ts';
import { type Change, type CommandContext, eventContext, execute, load, type Origin } from './execute.ts';
import { organizationSecret } from './organization.ts';

interface RecordSuppression {
  readonly environment: Environment;
  /** Keyed digest of the address. */
  readonly digest: string;
  /** null: it was erased. */
  readonly address: string | null;
  readonly reason: SuppressionReason;
  readonly scope: SuppressionScope;
  /** Present with scope `topic`. */
  readonly topicId?: string;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  /** Evidence, in words. */
  readonly text: string | null;
  readonly source: SuppressionEntry['source'];
  /** Position of the event that it follows from; null: it is a request. */
  readonly causedAt: Position | null;
}

export interface RecordedSuppression {
  readonly suppression: ExistingSuppression;
  readonly revision: number;
  /** false if the list already contained all of it. */
  readonly added: boolean;
}

/** Another entry against an address that is known by its digest. @throws {DomainError} `invalid_request`, `resource_conflict`. */
export const recordSuppression = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  { address, text, ...rest }: RecordSuppression,
): Promise<RecordedSuppression> => {
  const { system } = context;
  const now = system.now().toISOString();
  const id = suppressionId(rest.environment, rest.digest);
  const contentId = system.uuid();
  const { environment, ...command } = rest;
  const { state, revision, events } = await execute(context, {
    aggregate: suppression,
    stream: suppressionStream(id),
    context: eventContext({ ...origin, environment }, now),
    decide: (before) => decideAddSuppression(before, { ...command, suppressionId: id, contentId, now }),
    contents: [{ id: contentId, organizationId: origin.organizationId, body: { kind: 'suppression', address, text } }],
  });
  const existing = requireSuppression(state, { organizationId: origin.organizationId, environment });
  return { suppression: existing, revision: Number(revision), added: events.length > 0 };
};

/** A reason to suppress an address. */
export interface AddSuppression
  extends Pick<RecordSuppression, 'environment' | 'reason' | 'scope' | 'topicId' | 'expiresAt' | 'text'> {
  /** Parsed. */
  readonly address: string;
}

/**
 * Streams written at once: their appends share commits. More keep others' appends waiting, fewer wait for commits that
 * are not full.
 */
const LANES = 64;

/** How an organization knows an address. */
export const addressDigest = (secret: Uint8Array, address: string): string =>
  keyedDigest(secret, 'address', canonicalAddress(address));

/** A refusal concerns one address; a fault all of them. */
const orRefusal = async <T>(work: Promise<T>): Promise<T | DomainError> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
};

/**
 * Adds addresses to the list one by one. After a fault some may be on it; repeating the command completes it.
 * @returns results in the order of the addresses; refusals are `invalid_request` or `resource_conflict`.
 */
export const addSuppressions = async (
  context: Pick<CommandContext, 'store' | 'secrets' | 'system'>,
  origin: Origin,
  additions: readonly AddSuppression[],
): Promise<readonly (RecordedSuppression | DomainError)[]> => {
  const secret = await organizationSecret(context.secrets, origin.organizationId);
  return mapConcurrently(additions, { system: context.system, concurrency: LANES }, (addition) =>
    orRefusal(
      recordSuppression(context, origin, {
        ...addition,
        digest: addressDigest(secret, addition.address),
        source: null,
        causedAt: null,
      }),
    ),
  );
};

interface RecordedOptIn {
  readonly address: string;
  readonly suppression: Suppression;
  /** false: they had opted in already. It is recorded all the same. */
  readonly added: boolean;
}

/**
 * Records that the owners of addresses opted in to a topic, one by one. After a fault some are recorded; repeating the
 * command completes it. An opt-in withdraws only the owner's own refusal of the topic. It is recorded each time, because
 * an earlier unsubscription may not have reached the list yet, and is then ignored when it does.
 * @throws {DomainError} `resource_conflict`.
 */
export const recordOptIns = async (
  context: Pick<CommandContext, 'store' | 'secrets' | 'system'>,
  origin: Origin,
  {
    environment,
    topicId,
    evidence,
    addresses,
  }: {
    readonly environment: Environment;
    readonly topicId: string;
    /** Evidence of the opt-in, in words. */
    readonly evidence: string | null;
    readonly addresses: readonly string[];
  },
): Promise<readonly RecordedOptIn[]> => {
  const { system } = context;
  const { organizationId } = origin;
  const secret = await organizationSecret(context.secrets, organizationId);
  return mapConcurrently(addresses, { system, concurrency: LANES }, async (address) => {
    const digest = addressDigest(secret, address);
    const id = suppressionId(environment, digest);
    const contentId = system.uuid();
    const data = { suppressionId: id, digest, contentId, topicId, source: null };
    let added = true;
    const { state } = await execute(context, {
      aggregate: suppression,
      stream: suppressionStream(id),
      context: eventContext({ ...origin, environment }, system.now().toISOString()),
      decide: (before) => {
        added = !hasOptedIn(before, topicId);
        return [{ type: 'AddressResubscribed', data }];
      },
      contents: [{ id: contentId, organizationId, body: { kind: 'suppression', address, text: evidence } }],
    });
    return { address, suppression: state, added };
  });
};

/** Takes an address off the list. @throws {DomainError} `not_found`, `other_organization`, `precondition_failed`. */
export const removeSuppression = async (
  context: Pick<CommandContext, 'store' | 'system'>,
  origin: Origin,
  {
    suppressionId,
    environment,
    ...condition
  }: Change<Suppression> & { readonly suppressionId: string; readonly environment: Environment },
): Promise<void> => {
  await execute(context, {
    aggregate: suppression,
    stream: suppressionStream(suppressionId),
    context: eventContext({ ...origin, environment }, context.system.now().toISOString()),
    decide: (state) => decideRemoveSuppression(state, { organizationId: origin.organizationId, environment }),
    ...condition,
  });
};

const originOf = ({ id, metadata }: SuppressingEvent): Origin => ({
  actor: 'worker:suppress-recipients',
  requestId: null,
  organizationId: metadata.organizationId,
  environment: metadata.environment,
  correlationId: metadata.$correlationId,
  causationId: id,
});

const replyIdOf = ({ type, data }: SuppressingEvent): string | null =>
  type === 'RecipientBounced' ? data.smtp.replyId : null;

/** The address and the server's reply; null once erased from the vault. */
const evidenceOf = async (contents: Pick<Contents, 'heads'>, event: SuppressingEvent) => {
  const replyId = replyIdOf(event);
  const { contentId, recipientId } = event.data;
  const found = await contents.heads(replyId === null ? [contentId] : [contentId, replyId]);
  const body = found.get(contentId);
  const reply: StoredHead | undefined = found.get(replyId ?? '');
  const recipients = body?.kind === 'message' ? body.recipients : [];
  return {
    address: recipients.find(({ id }) => id === recipientId)?.address ?? null,
    text: reply?.kind === 'reply' ? reply.text : null,
  };
};

/**
 * Suppresses the address of a bounce, a complaint or an unsubscription. Idempotent for an event.
 */
export const suppressRecipient = async (
  context: Pick<CommandContext, 'store' | 'contents' | 'system'>,
  event: SuppressingEvent,
): Promise<void> => {
  const { messageId, recipientId } = event.data;
  const { state } = await load(context.store, message, messageStream(messageId));
  if (state.status === 'absent') return;
  const recipient = state.accepted.recipients.find(({ id }) => id === recipientId);
  if (recipient === undefined) return;
  await recordSuppression(context, originOf(event), {
    environment: state.environment,
    digest: recipient.digest,
    expiresAt: null,
    ...suppressionFor(event, state.accepted.stream),
    ...(await evidenceOf(context.contents, event)),
    source: { messageId, recipientId, eventId: event.id },
    causedAt: event.position,
  });
};
