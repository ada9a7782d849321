import { retry } from '../../async/retry.ts';
import { storedBody } from '../../commands/message/send-message.ts';
import type { Claim } from '../../commands/message/start-attempt.ts';
import { organizationSecret } from '../../commands/organization.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import { type ReturnPurpose, returnPath } from '../../domain/message/return-path.ts';
import { unsubscribeToken } from '../../domain/message/unsubscribe-token.ts';
import type { Contents, MessageBody } from '../../domain/ports/contents.ts';
import type { SigningKey } from '../../domain/ports/dkim-keys.ts';
import type { OutgoingMail } from '../../domain/ports/mail-transport.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import type { System } from '../../domain/ports/system.ts';
import type { SenderDomains } from './sender-domains.ts';

/** Where nothing is signed. */
const NO_SECRET = new Uint8Array(0);

export type Claimed = Extract<Claim, { claimed: true }>;

export interface OutgoingMailParts {
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly system: System;
  /** Where recipients reach this service: without a slash at its end. */
  publicUrl(): string;
  readonly senderDomains: Pick<SenderDomains, 'keysOf' | 'returnHostOf'>;
  /** Where undelivered mail comes back to; absent: to its sender. */
  readonly bounceDomain?: string | undefined;
}

/** What mailbox providers count complaints by: the stream, the domain, the organization, and who sent it for them. */
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

/** A name of ours for what concerns these recipients of a message, who are of one domain. */
type TokenFor = (purpose: ReturnPurpose, to: To) => string;
/** The same as an address; undefined: there is none. */
type AddressFor = (purpose: ReturnPurpose, to: To) => string | undefined;

/** One recipient can be told apart, several are told by what the report says. */
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
 * Undelivered mail comes back to us. A sender outside ASCII stays the one it comes back to: it is the envelope that
 * tells transports that a mail needs SMTPUTF8.
 */
const returned = (mail: OutgoingMail, addressFor: AddressFor, tokenFor: TokenFor): OutgoingMail => {
  const { from, to } = mail.envelope;
  const address = NON_ASCII.test(from) ? undefined : addressFor('bounce', to);
  return address === undefined ? mail : { ...mail, envelope: { from: address, to, id: tokenFor('envelope', to) } };
};

/** A copy for each domain: whoever reads the return address in his can only speak of his own domain's recipients. */
const copiesByDomain = ({ message: { state } }: Claimed, mail: OutgoingMail): readonly OutgoingMail[] => {
  const domains = new Map(state.recipients.map(({ id, domain }) => [id, domain]));
  const groups = Map.groupBy(mail.envelope.to, ({ recipientId }) => domains.get(recipientId));
  return [...groups.values()].map((to) => ({ ...mail, envelope: { from: mail.envelope.from, to } }));
};

/** A copy for each recipient, with a link (and an address) that is nobody else's. */
const linkedCopies = (
  { publicUrl }: OutgoingMailParts,
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

/**
 * What a claimed attempt sends: one mail for all of its recipients, one for each domain where it comes back to us, or one
 * for each recipient where each has its own link.
 * @throws {Error} contents or secret are missing: faults.
 */
export const loadMails = async (parts: OutgoingMailParts, claim: Claimed): Promise<readonly OutgoingMail[]> => {
  const { contents, secrets, system, senderDomains, bounceDomain } = parts;
  const { state } = claim.message;
  const [body, signing] = await Promise.all([
    retry(system, () => storedBody(contents, state)),
    retry(system, () => senderDomains.keysOf(state.accepted.domainId)),
  ]);
  const mail = mailOf(claim, body, signing);
  const { unsubscribe } = body;
  const needsSecret = unsubscribe === 'managed' || bounceDomain !== undefined;
  const secret = needsSecret ? await retry(system, () => organizationSecret(secrets, state.organizationId)) : NO_SECRET;
  // By a name of the sender's own SPF is about his domain, as DMARC wants it (RFC 7489 §3.1.2).
  const returnHost = senderDomains.returnHostOf(state.accepted.domainId) ?? bounceDomain;
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
  return mails.map((each) => returned(each, addressFor, tokenFor));
};
