import type { Caller } from '../../domain/api-key/caller.ts';
import { requireOwn } from '../../domain/kernel/aggregate.ts';
import { keyedBytes, keyedDigest } from '../../domain/kernel/digest.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { formatId, formatTimedId, ID_BYTES } from '../../domain/kernel/ids.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import { acceptMessage } from '../../domain/message/accept-message.ts';
import type { MessageDraft } from '../../domain/message/draft.ts';
import { SERVICE_SENDER } from '../../domain/message/events.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
import { TTL_SECONDS_DEFAULT } from '../../domain/message/retry-schedule.ts';
import type { Notice } from '../../domain/organization/organization.ts';
import { type Contents, isRemoved, type MessageBody } from '../../domain/ports/contents.ts';
import { CONFIDENTIAL_HEADER } from '../../domain/ports/mail.ts';
import type { System } from '../../lib/async/async.ts';
import type { StoredAttachment } from '../../lib/mime/mime.ts';
import {
  type CommandContext,
  eventContext,
  execute,
  internalOrigin,
  type LoadedStream,
  type Origin,
} from '../execute.ts';
import { organizationSecret } from '../organization.ts';
import { billableOf, enforceQuota, withRefusal } from './enforce-quota.ts';
import {
  bodyDigest,
  type MessageIdentity,
  type PreparedMessage,
  prepareMessage,
  type Sender,
  type SendRequest,
} from './prepare-message.ts';

/** The body that was stored when the message was accepted. @throws {Error} if it is missing, which is a fault. */
export const storedBody = async (contents: Contents, { accepted }: ExistingMessage): Promise<MessageBody> => {
  const { contentId } = accepted;
  const body = (await contents.get([contentId])).get(contentId);
  if (body?.kind !== 'message') throw new Error(`the vault holds no contents ${contentId}`);
  return body;
};

/** The ports that sending needs. */
export type SendContext = Pick<CommandContext, 'store' | 'contents' | 'secrets' | 'system' | 'quotas' | 'plans'>;

export interface SentMessage {
  readonly message: ExistingMessage;
  readonly body: MessageBody;
  /** This request was made before: nothing new was written. */
  readonly replayed: boolean;
}

/**
 * A repeat has the same addresses: they are answered as before, also when what was stored was removed, and where one mailbox
 * was several recipients.
 */
const repeatedBody = async (
  contents: Contents,
  { accepted: { contentId, recipients } }: ExistingMessage,
  { accept, contents: { body: repeat } }: PreparedMessage,
): Promise<MessageBody> => {
  const found = (await contents.get([contentId])).get(contentId);
  if (found?.kind === 'message') return found;
  if (found === undefined || !isRemoved(found)) throw new Error(`the vault holds no contents ${contentId}`);
  const byDigest = new Map(
    accept.accepted.recipients.map(({ digest }, index) => [digest, repeat.recipients[index]?.address]),
  );
  return {
    ...repeat,
    recipients: recipients.map(({ id, kind, digest }) => ({ id, kind, address: byDigest.get(digest) ?? '' })),
  };
};

const UNHEARD_OF: LoadedStream<Message> = { state: message.initial, revision: 'no-stream' };

const accept = async (
  context: SendContext,
  origin: Origin,
  prepared: PreparedMessage,
  known: { readonly known?: LoadedStream<Message> },
): Promise<SentMessage> => {
  const { accept: command, contents } = prepared;
  const { state, events } = await execute(context, {
    aggregate: message,
    stream: messageStream(command.accepted.messageId),
    context: eventContext(origin, command.now),
    contents: [contents],
    decide: (before) => acceptMessage(before, command),
    ...known,
  });
  const accepted = requireOwn(state, origin.organizationId, 'message');
  if (events.length > 0) return { message: accepted, body: contents.body, replayed: false };
  return { message: accepted, body: await repeatedBody(context.contents, accepted, prepared), replayed: true };
};

/**
 * Accepts a message durably, and takes for granted that it was not sent before: the append finds out. What would be
 * refused now may have been accepted once, so a repeat is looked for before it is.
 * @throws {DomainError} of `acceptMessage`.
 */
export const acceptPrepared = async (
  context: SendContext,
  origin: Origin,
  prepared: PreparedMessage,
): Promise<SentMessage> => {
  try {
    return await accept(context, origin, prepared, { known: UNHEARD_OF });
  } catch (error) {
    if (
      !prepared.accept.accepted.idempotent ||
      !(error instanceof DomainError) ||
      error.code === 'idempotency_key_reused'
    )
      throw error;
    return accept(context, origin, prepared, {});
  }
};

interface SendMessage extends SendRequest {
  /** The parsed request body before defaults: its digest is recorded. */
  readonly body: unknown;
  /** null: none was sent. */
  readonly idempotencyKey: string | null;
}

/** Without an idempotency key. Under a key the time is not in the id: a repeat comes later. */
export const newMessageId = ({ now, randomBytes }: Pick<System, 'now' | 'randomBytes'>): string =>
  formatTimedId('msg', now().getTime(), randomBytes(ID_BYTES));

/** Scope of an idempotency key: the organization, by its secret, and the environment. */
export const keyedMessageId = ({ caller, secret }: Sender, key: string): string =>
  formatId('msg', keyedBytes(secret, 'message-id', `${caller.environment}\0${key}`));

const identityOf = async (
  { system }: SendContext,
  sender: Sender,
  { body, idempotencyKey }: Pick<SendMessage, 'body' | 'idempotencyKey'>,
): Promise<MessageIdentity> => ({
  messageId: idempotencyKey === null ? newMessageId(system) : keyedMessageId(sender, idempotencyKey),
  bodyDigest: keyedDigest(sender.secret, 'body', await bodyDigest({ system }, body)),
  idempotent: idempotencyKey !== null,
});

/**
 * Accepts a message durably (spec §4 POST /v1/messages/send). With an idempotency key the message's id follows from it,
 * so that the log itself knows a repeat.
 * @throws {DomainError} `from_domain_mismatch`, and those of `acceptMessage`.
 */
export const sendMessage = async (
  context: SendContext,
  origin: Origin,
  caller: Caller,
  { body, idempotencyKey, ...request }: SendMessage,
): Promise<SentMessage> => {
  const sender = { caller, secret: await organizationSecret(context.secrets, caller.organizationId) };
  const identity = await identityOf(context, sender, { body, idempotencyKey });
  const reservation = await enforceQuota(context, caller, [billableOf(request)]);
  let accepted = 0;
  try {
    const limited = withRefusal(request, reservation.refusals[0] ?? null);
    const sent = await acceptPrepared(context, origin, await prepareMessage(context.system, sender, identity, limited));
    accepted = sent.replayed ? 0 : billableOf(request);
    return sent;
  } finally {
    reservation.settle(accepted);
  }
};

/**
 * Mail of this service itself, as ordinary live messages from a domain of the organization that it concerns. They are neither
 * billed nor counted in statistics, and not tracked.
 */

/** A notice, and to whom it goes. */
export interface MailedNotice {
  readonly organizationId: string;
  readonly notice: Notice;
  /** One address. */
  readonly to: string;
  readonly attachments: readonly StoredAttachment[];
  readonly actor: string;
  readonly causeId: string;
  /** The same is one message. With a line break, which no client can send. */
  readonly idempotencyKey: string;
  /** Default: `TTL_SECONDS_DEFAULT`. */
  readonly ttlSeconds?: number;
  /** It contains a sign-in link: its content is shown to its recipient only. */
  readonly confidential?: true;
}

/** A domain that may send live mail. */
interface NoticeDomain {
  readonly id: string;
  readonly name: string;
}

const LOCAL_PART = 'outbox';

const draftOf = (mailed: MailedNotice, from: string): MessageDraft => ({
  ...mailed.notice,
  from: { address: from, name: 'Outbox' },
  recipients: [{ address: mailed.to, kind: 'to' }],
  replyTo: [],
  // RFC 3834 §5: prevents automatic replies.
  headers: {
    'Auto-Submitted': 'auto-generated',
    ...(mailed.confidential === undefined ? {} : { [CONFIDENTIAL_HEADER]: 'yes' }),
  },
  attachments: mailed.attachments,
  tags: [],
  metadata: {},
  stream: 'transactional',
  ttlSeconds: mailed.ttlSeconds ?? TTL_SECONDS_DEFAULT,
  trial: true,
  ...(mailed.confidential === undefined ? {} : { confidential: mailed.confidential }),
});

const sender = (organizationId: string, { id, name }: NoticeDomain): Caller => ({
  keyId: SERVICE_SENDER,
  secret: 0,
  organizationId,
  environment: 'live',
  permissions: ['send'],
  bounds: { allowedCidrs: [], expiresAt: null, rateLimits: {} },
  domain: { id, name, verified: true },
});

/** Accepts a notice durably. @throws {DomainError} it is refused. */
export const mailNotice = (context: SendContext, domain: NoticeDomain, mailed: MailedNotice): Promise<SentMessage> => {
  const { organizationId, actor, causeId, idempotencyKey } = mailed;
  const origin = internalOrigin({ actor, organizationId, environment: 'live', causeId });
  const draft = draftOf(mailed, `${LOCAL_PART}@${domain.name}`);
  return sendMessage(context, origin, sender(organizationId, domain), { draft, body: null, idempotencyKey });
};
