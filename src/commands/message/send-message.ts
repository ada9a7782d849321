import type { Caller } from '../../domain/caller.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { keyedBytes, keyedDigest } from '../../domain/digest.ts';
import { formatId, ID_BYTES } from '../../domain/ids.ts';
import type { CommandContext, Origin } from '../context.ts';
import { organizationSecret } from '../organization/organization-secret.ts';
import { acceptPrepared, type SentMessage } from './accept-prepared.ts';
import { type MessageIdentity, prepareMessage, type Sender, type SendRequest } from './prepare-message.ts';

export interface SendMessage extends SendRequest {
  /** `Idempotency-Key`, and the parsed request body before defaults; null where none was sent. */
  readonly idempotency: { readonly key: string; readonly body: unknown } | null;
}

/** Scope of an idempotency key: the organization, by its secret, and the environment. */
export const keyedMessageId = ({ caller, secret }: Sender, key: string): string =>
  formatId('msg', keyedBytes(secret, 'message-id', `${caller.environment}\0${key}`));

const identityOf = (
  { system }: CommandContext,
  sender: Sender,
  idempotency: SendMessage['idempotency'],
): MessageIdentity =>
  idempotency === null
    ? { messageId: formatId('msg', system.randomBytes(ID_BYTES)), bodyDigest: null }
    : {
        messageId: keyedMessageId(sender, idempotency.key),
        bodyDigest: keyedDigest(sender.secret, 'body', canonicalJson(idempotency.body)),
      };

/**
 * Accepts a message durably (spec §4 POST /v1/messages/send). With an idempotency key the message's id follows from it,
 * so that the log itself knows a repeat.
 * @throws {Refusal} `from_domain_mismatch`, and those of `acceptMessage`.
 */
export const sendMessage = async (
  context: CommandContext,
  origin: Origin,
  caller: Caller,
  { idempotency, ...request }: SendMessage,
): Promise<SentMessage> => {
  const sender = { caller, secret: await organizationSecret(context.secrets, caller.organizationId) };
  const identity = identityOf(context, sender, idempotency);
  return acceptPrepared(context, origin, prepareMessage(context.system, sender, identity, request));
};
