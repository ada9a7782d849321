import { retry } from '../../async/retry.ts';
import { storedBody } from '../../commands/message/send-message.ts';
import { organizationSecret } from '../../commands/organization.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import { type ReturnPurpose, returnPath } from '../../domain/message/return-path.ts';
import { unsubscribeToken } from '../../domain/message/unsubscribe-token.ts';
import type { Contents, MessageBody } from '../../domain/ports/contents.ts';
import type { SigningKey } from '../../domain/ports/dkim-keys.ts';
import type { OutgoingMail } from '../../domain/ports/mail-transport.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { System } from '../../domain/ports/system.ts';
import type { SendingDomains } from '../domains/sending-domains.ts';
import type { Claimed } from './claim.ts';

/**
 * Loads what a claimed attempt sends from the vault, as mails for the transport: one for all recipients; one for each
 * recipient domain if undelivered mail comes back to this service; or one for each recipient if each has an unsubscribe link
 * of its own. The transport composes MIME (`adapters/mail/compose`) and signs it with the keys that are loaded here.
 */

/** For mail without tokens. */
const NO_SECRET = new Uint8Array(0);

export interface LoadMailsParts {
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly system: System;
  /** Base URL of this service for recipients, without a trailing slash. */
  publicUrl(): string;
  readonly sendingDomains: Pick<SendingDomains, 'keysOf' | 'returnHostOf'>;
  /** Where undelivered mail comes back to; absent: to its sender. */
  readonly bounceDomain?: string | undefined;
}

/** `Feedback-ID`: what mailbox providers count complaints by (message class, domain, organization, sending service). */
const feedbackIdOf = ({ accepted: { stream, domainId }, organizationId }: ExistingMessage): string =>
  `${stream}:${domainId}:${organizationId}:outbox`;

const mailOf = (
  { message: { state }, attempt, recipientIds }: Claimed,
  body: MessageBody,
  signing: readonly SigningKey[],
): OutgoingMail => ({
  envelope: {
    from: body.from.address,
    to: body.recipients
      .filter(({ id }) => recipientIds.includes(id))
      .map(({ id, address }) => ({ recipientId: id, address })),
  },
  messageId: state.accepted.internetMessageId,
  body,
  signing,
  feedbackId: feedbackIdOf(state),
  date: new Date(state.acceptedAt),
  attempt,
});

type To = OutgoingMail['envelope']['to'];

/** A return token for recipients of one domain. */
type TokenFor = (purpose: ReturnPurpose, to: To) => string;
/** The token as an address; undefined: there is none. */
type AddressFor = (purpose: ReturnPurpose, to: To) => string | undefined;

/** The token of a single recipient names it; with several, the report itself does. */
const tokensOf =
  ({ message: { state } }: Claimed, secret: Uint8Array): TokenFor =>
  (purpose, to) => {
    const { messageId } = state.accepted;
    const index = state.recipients.findIndex(({ id }) => id === to[0]?.recipientId);
    const named = { purpose, messageId, recipientIndex: index < 0 ? null : index };
    return returnPath(secret, to.length === 1 ? named : { ...named, sharesDomain: true });
  };

const NON_ASCII = /[^\0-\x7f]/;

/**
 * Has undelivered mail come back to this service. A non-ASCII envelope sender is kept: it tells transports that the mail
 * needs SMTPUTF8.
 */
const withReturnPath = (mail: OutgoingMail, addressFor: AddressFor, tokenFor: TokenFor): OutgoingMail => {
  const { from, to } = mail.envelope;
  const address = NON_ASCII.test(from) ? undefined : addressFor('bounce', to);
  return address === undefined ? mail : { ...mail, envelope: { from: address, to, id: tokenFor('envelope', to) } };
};

/** A copy for each domain: a server that reads its return address can report on its own domain's recipients only. */
const copiesByDomain = ({ message: { state } }: Claimed, mail: OutgoingMail): readonly OutgoingMail[] => {
  const domains = new Map(state.recipients.map(({ id, domain }) => [id, domain]));
  const groups = Map.groupBy(mail.envelope.to, ({ recipientId }) => domains.get(recipientId));
  return [...groups.values()].map((to) => ({ ...mail, envelope: { from: mail.envelope.from, to } }));
};

/** A copy for each recipient, with an unsubscribe link (and address) of its own. */
const linkedCopies = (
  { publicUrl }: LoadMailsParts,
  { message: { state } }: Claimed,
  mail: OutgoingMail,
  { secret, addressFor }: { readonly secret: Uint8Array; readonly addressFor: AddressFor },
): readonly OutgoingMail[] => {
  const { from, to } = mail.envelope;
  return to.map((recipient) => {
    const token = unsubscribeToken(secret, state.accepted.messageId, recipient.recipientId);
    const mailto = addressFor('unsubscribe', [recipient]);
    const url = `${publicUrl()}/unsubscribe/${token}`;
    return {
      ...mail,
      envelope: { from, to: [recipient] },
      unsubscribe: mailto === undefined ? { url } : { url, mailto },
    };
  });
};

/** @throws {Error} contents or secret are missing: a fault. */
export const loadMails = async (parts: LoadMailsParts, claim: Claimed): Promise<readonly OutgoingMail[]> => {
  const { contents, secrets, system, sendingDomains, bounceDomain } = parts;
  const { state } = claim.message;
  const [body, signing] = await Promise.all([
    retry(system, () => storedBody(contents, state)),
    retry(system, () => sendingDomains.keysOf(state.accepted.domainId)),
  ]);
  const mail = mailOf(claim, body, signing);
  const { unsubscribe } = body;
  const needsSecret = unsubscribe === 'managed' || bounceDomain !== undefined;
  const secret = needsSecret ? await retry(system, () => organizationSecret(secrets, state.organizationId)) : NO_SECRET;
  // With a host of the sender's own, SPF aligns with its domain (RFC 7489 §3.1.2).
  const returnHost = sendingDomains.returnHostOf(state.accepted.domainId) ?? bounceDomain;
  const tokenFor = tokensOf(claim, secret);
  const addressFor: AddressFor = (purpose, to) =>
    bounceDomain === undefined ? undefined : `${tokenFor(purpose, to)}@${returnHost}`;
  const single = (): OutgoingMail =>
    unsubscribe === undefined || unsubscribe === 'managed' ? mail : { ...mail, unsubscribe };
  if (unsubscribe !== 'managed' && bounceDomain === undefined) return [single()];
  const mails =
    unsubscribe === 'managed'
      ? linkedCopies(parts, claim, mail, { secret, addressFor })
      : copiesByDomain(claim, single());
  return mails.map((each) => withReturnPath(each, addressFor, tokenFor));
};
