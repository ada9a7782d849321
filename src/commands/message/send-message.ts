import type { Caller } from '../../domain/caller.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import type { MessageBody } from '../../domain/contents.ts';
import { keyedBytes, keyedDigest } from '../../domain/digest.ts';
import { canonicalAddress, domainOf } from '../../domain/email-address.ts';
import { formatId, ID_BYTES } from '../../domain/ids.ts';
import { acceptMessage } from '../../domain/message/accept-message.ts';
import type { MessageDraft } from '../../domain/message/draft.ts';
import { type ExistingMessage, message, messageStream } from '../../domain/message/message.ts';
import { requireOwn } from '../../domain/ownership.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type CommandContext, eventContext, type Origin } from '../context.ts';
import { execute } from '../execute.ts';
import { organizationSecret } from '../organization/organization-secret.ts';

export interface SendMessage {
  readonly draft: MessageDraft;
  /** `Idempotency-Key`, and the parsed request body before defaults; null where none was sent. */
  readonly idempotency: { readonly key: string; readonly body: unknown } | null;
}

export interface SentMessage {
  readonly message: ExistingMessage;
  readonly body: MessageBody;
  /** This request was made before: nothing new was written. */
  readonly replayed: boolean;
}

const SECOND_MS = 1000;

/** @throws {Refusal} `from_domain_mismatch` (spec §4), `domain_not_verified`. A test key needs no proof: nothing leaves. */
const requireSender = (caller: Caller, fromAddress: string): void => {
  const fromDomain = domainOf(fromAddress);
  if (fromDomain !== caller.domain.name) {
    throw new Refusal('from_domain_mismatch', `from must be an address on ${caller.domain.name}, the key's domain`);
  }
  if (!caller.domain.verified && caller.environment === 'live') {
    throw new Refusal('domain_not_verified', `domain ${fromDomain} is not verified`);
  }
};

const sizeOf = ({ html = '', text = '', attachments }: MessageDraft): number =>
  Buffer.byteLength(html) +
  Buffer.byteLength(text) +
  attachments.reduce((sum, { content }) => sum + Math.floor((content.length * 3) / 4), 0);

/**
 * Accepts a message durably (spec §4 POST /v1/messages/send). With an idempotency key the message's id follows from it,
 * so that the log itself knows a repeat.
 * @throws {Refusal} `from_domain_mismatch`, `domain_not_verified`, `idempotency_key_reused`.
 */
export const sendMessage = async (
  context: CommandContext,
  origin: Origin,
  caller: Caller,
  { draft, idempotency }: SendMessage,
): Promise<SentMessage> => {
  requireSender(caller, draft.from.address);
  const { system } = context;
  const secret = await organizationSecret(context.secrets, caller.organizationId);
  const digestOf = (address: string): string => keyedDigest(secret, 'address', canonicalAddress(address));
  const idBytes =
    idempotency === null
      ? system.randomBytes(ID_BYTES)
      : keyedBytes(secret, 'message-id', `${caller.environment}\0${idempotency.key}`);
  const messageId = formatId('msg', idBytes);
  const contentId = system.uuid();
  const recipients = draft.recipients.map((recipient) => ({
    ...recipient,
    id: formatId('rcp', system.randomBytes(ID_BYTES)),
  }));
  const { stream, ttlSeconds, recipients: _, ...rest } = draft;
  const body: MessageBody = { kind: 'message', messageId, ...rest, recipients };
  const now = system.now();
  const { state, events } = await execute(context, {
    aggregate: message,
    stream: messageStream(messageId),
    context: eventContext(origin, now.toISOString()),
    contents: [{ id: contentId, organizationId: caller.organizationId, body }],
    known: { state: message.initial, revision: 'no-stream' },
    decide: (before) =>
      acceptMessage(before, {
        ...{ messageId, domainId: caller.domain.id, keyId: caller.keyId, contentId },
        internetMessageId: `<${messageId}@${caller.domain.name}>`,
        bodyDigest: idempotency === null ? null : keyedDigest(secret, 'body', canonicalJson(idempotency.body)),
        fromDigest: digestOf(draft.from.address),
        fromDomain: caller.domain.name,
        recipients: recipients.map(({ id, kind, address }) => ({
          ...{ id, kind, domain: domainOf(address), digest: digestOf(address) },
        })),
        tagDigests: draft.tags.map(({ name, value }) => keyedDigest(secret, 'tag', `${name}\0${value}`)),
        stream,
        sizeBytes: sizeOf(draft),
        expiresAt: new Date(now.getTime() + ttlSeconds * SECOND_MS).toISOString(),
      }),
  });
  const accepted = requireOwn(state, caller.organizationId, 'message');
  if (events.length > 0) return { message: accepted, body, replayed: false };
  return { message: accepted, body: await firstBody(context, accepted), replayed: true };
};

/** What the first request of this idempotency key stored. */
const firstBody = async ({ contents }: CommandContext, { accepted }: ExistingMessage): Promise<MessageBody> => {
  const stored = (await contents.get([accepted.contentId])).get(accepted.contentId);
  if (stored?.kind !== 'message') throw new Error(`the vault holds no contents ${accepted.contentId}`);
  return stored;
};
