import type { Caller } from '../../domain/caller.ts';
import { keyedBytes, keyedDigest } from '../../domain/digest.ts';
import { formatId, ID_BYTES } from '../../domain/ids.ts';
import type { CommandContext, Origin } from '../context.ts';
import { organizationSecret } from '../organization/organization-secret.ts';
import { acceptPrepared, type SentMessage } from './accept-prepared.ts';
import { bodyDigest } from './body-digest.ts';
import { type MessageIdentity, prepareMessage, type Sender, type SendRequest } from './prepare-message.ts';

export interface SendMessage extends SendRequest {
  /** The parsed request body before defaults: its digest is recorded. */
  readonly body: unknown;
  /** null: none was sent. */
  readonly idempotencyKey: string | null;
}

/** Scope of an idempotency key: the organization, by its secret, and the environment. */
export const keyedMessageId = ({ caller, secret }: Sender, key: string): string =>
  formatId('msg', keyedBytes(secret, 'message-id', `${caller.environment}\0${key}`));

const identityOf = async (
  { system }: CommandContext,
  sender: Sender,
  { body, idempotencyKey }: Pick<SendMessage, 'body' | 'idempotencyKey'>,
): Promise<MessageIdentity> => ({
  messageId:
    idempotencyKey === null ? formatId('msg', system.randomBytes(ID_BYTES)) : keyedMessageId(sender, idempotencyKey),
  bodyDigest: keyedDigest(sender.secret, 'body', await bodyDigest({ system }, body)),
  idempotent: idempotencyKey !== null,
});

/**
 * Accepts a message durably (spec §4 POST /v1/messages/send). With an idempotency key the message's id follows from it,
 * so that the log itself knows a repeat.
 * @throws {DomainError} `from_domain_mismatch`, and those of `acceptMessage`.
 */
export const sendMessage = async (
  context: CommandContext,
  origin: Origin,
  caller: Caller,
  { body, idempotencyKey, ...request }: SendMessage,
): Promise<SentMessage> => {
  const sender = { caller, secret: await organizationSecret(context.secrets, caller.organizationId) };
  const identity = await identityOf(context, sender, { body, idempotencyKey });
  return acceptPrepared(context, origin, prepareMessage(context.system, sender, identity, request));
};
