import { withViewUrl } from '../../../domain/message/tokens.ts';
import type { MessageBody } from '../../../domain/ports/contents.ts';
import type { MessageSources, OutgoingMail } from '../../../domain/ports/mail.ts';
import type { System } from '../../../lib/async/async.ts';
import { createTextAlternatives, type TextAlternatives } from '../../../lib/html/html.ts';
import {
  canonicalBase64,
  canonicalBase64InTurns,
  type MimeMessage,
  type StoredAlternative,
  type StoredAttachment,
  type UnsignedMessage,
} from '../../../lib/mime/mime.ts';
import { bodyHash, createPrivateKeys, dkimSignatures } from '../../../lib/smtp/smtp.ts';
import { createHtmlTracker } from '../../html/tracked-links.ts';
import { type Base64Of, buildMimeMessage, needsUtf8 } from './mime-message.ts';

/**
 * Builds a message for all or some of its recipients. Non-ASCII addresses appear unencoded only if the envelope has
 * such addresses too.
 */
export type MessageFor = (envelope: OutgoingMail['envelope']) => Promise<MimeMessage>;

export interface OutgoingMessages {
  /**
   * Prepares the message for all of its recipients, with its plain text. It is built and signed when this resolves.
   * Call it before acquiring a session, which should not have to wait for a processor.
   * @throws {Error} if it cannot be built, or a key cannot sign.
   */
  prepare(mail: OutgoingMail): Promise<MessageFor>;
  close(): Promise<void>;
}

/**
 * The copies of one message have identical bodies, unless they are tracked or contain their own address. Such bodies
 * are hashed once.
 */
const createBodyHashes = () => {
  const hashes = new WeakMap<MessageBody, { readonly messageId: string; readonly digest: Promise<string> }>();
  return ({ body, messageId, tracking, viewUrl }: OutgoingMail, message: UnsignedMessage): Promise<string> => {
    if (tracking !== undefined || viewUrl !== undefined) return bodyHash(message.body());
    const known = hashes.get(body);
    if (known?.messageId === messageId) return known.digest; // the id is part of the boundaries
    const digest = bodyHash(message.body());
    hashes.set(body, { messageId, digest });
    return digest;
  };
};

/** Scans the attachments of a message once, however many copies it has. */
const createWrittenAttachments = () => {
  const known = new WeakMap<StoredAttachment | StoredAlternative, string>();
  return async ({ body: { attachments, alternatives = [] } }: OutgoingMail): Promise<Base64Of> => {
    for (const attachment of [...alternatives, ...attachments]) {
      if (!known.has(attachment)) known.set(attachment, await canonicalBase64InTurns(attachment.content));
    }
    return (attachment) => known.get(attachment) ?? canonicalBase64(attachment.content);
  };
};

export const createMessageSources = (texts: Pick<TextAlternatives, 'of'>): MessageSources => {
  const writtenIn = createWrittenAttachments();
  return {
    of: async (mail) =>
      buildMimeMessage(mail, await texts.of(mail.body), await writtenIn(mail))
        .headed('')
        .chunks(),
  };
};

export const createOutgoingMessages = (system: Pick<System, 'now'>): OutgoingMessages => {
  const texts = createTextAlternatives();
  const tracker = createHtmlTracker();
  const privateKeys = createPrivateKeys();
  const hashOf = createBodyHashes();
  const writtenIn = createWrittenAttachments();

  const make = async (mail: OutgoingMail): Promise<MimeMessage> => {
    const { body, viewUrl } = mail;
    const own = (text: string): string => (viewUrl === undefined ? text : withViewUrl(text, viewUrl));
    const tracked = await tracker.htmlOf(mail);
    const html = tracked === undefined ? undefined : own(tracked);
    const sent = html === body.html || html === undefined ? mail : { ...mail, body: { ...body, html } };
    // The plain text is derived from the original html.
    const message = buildMimeMessage(sent, own(await texts.of(body)), await writtenIn(mail));
    const { signing: keys = [] } = mail;
    if (keys.length === 0) return message.headed('');
    const digest = await hashOf(mail, message);
    return message.headed(await dkimSignatures(message, { keys, privateKeys, bodyHash: digest, now: system.now() }));
  };

  return {
    prepare: async (mail) => {
      const made = new Map<boolean, Promise<MimeMessage>>();
      const messageFor: MessageFor = (envelope) => {
        const utf8 = needsUtf8(envelope);
        const message = made.get(utf8) ?? make({ ...mail, envelope });
        made.set(utf8, message);
        return message;
      };
      await messageFor(mail.envelope);
      return messageFor;
    },
    close: async () => {
      await Promise.all([texts.close(), tracker.close()]);
    },
  };
};
