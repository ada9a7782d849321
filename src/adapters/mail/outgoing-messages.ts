import type { MessageBody } from '../../domain/contents.ts';
import type { OutgoingMail } from '../../domain/mail-transport.ts';
import type { System } from '../../domain/system.ts';
import { bodyHash } from './dkim/body-hash.ts';
import { dkimSignatures } from './dkim/dkim-signatures.ts';
import { createPrivateKeys } from './dkim/private-keys.ts';
import { buildMimeMessage, type MimeMessage, type UnsignedMessage } from './mime-message.ts';
import { createTextAlternatives } from './text/text-alternative.ts';

export interface OutgoingMessages {
  /**
   * A mail as it is to be sent: with its plain text, built and signed. To be asked for before a session is, which shall
   * not wait for a processor.
   * @throws {Error} it cannot be built, or a key cannot be signed with.
   */
  of(mail: OutgoingMail): Promise<MimeMessage>;
  close(): Promise<void>;
}

/** Bodies of the copies of one message are the same to the byte: they are hashed once. */
const createBodyHashes = () => {
  const hashes = new WeakMap<MessageBody, { readonly messageId: string; readonly digest: Promise<string> }>();
  return ({ body, messageId }: OutgoingMail, message: UnsignedMessage): Promise<string> => {
    const known = hashes.get(body);
    if (known?.messageId === messageId) return known.digest; // it is in the boundaries
    const digest = bodyHash(message.body());
    hashes.set(body, { messageId, digest });
    return digest;
  };
};

export const createOutgoingMessages = (system: Pick<System, 'now'>): OutgoingMessages => {
  const texts = createTextAlternatives();
  const privateKeys = createPrivateKeys();
  const hashOf = createBodyHashes();
  return {
    of: async (mail) => {
      const message = buildMimeMessage(mail, await texts.of(mail.body));
      const { signing: keys = [] } = mail;
      if (keys.length === 0) return message.headed('');
      const digest = await hashOf(mail, message);
      return message.headed(await dkimSignatures(message, { keys, privateKeys, bodyHash: digest, now: system.now() }));
    },
    close: texts.close,
  };
};
