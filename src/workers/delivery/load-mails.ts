import { storedBody } from '../../commands/message/send-message.ts';
import { organizationSecret } from '../../commands/organization.ts';
import type { ExistingMessage } from '../../domain/message/message.ts';
import {
  hasViewUrl,
  type ReturnPurpose,
  returnPath,
  unsubscribeToken,
  unsubscribeUrl,
  viewToken,
  viewUrl,
} from '../../domain/message/tokens.ts';
import type { Contents, MessageBody } from '../../domain/ports/contents.ts';
import type { OutgoingMail, TrackedHtml } from '../../domain/ports/mail.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { type TrackingKeys, trackedHtml, trackingUrl } from '../../domain/tracking/tracking.ts';
import { retry, type System } from '../../lib/async/async.ts';
import type { UnsubscribeWays } from '../../lib/mime/mime.ts';
import type { SigningKey } from '../../lib/smtp/smtp.ts';
import type { SendingDomains } from '../domains/sending-domains.ts';
import type { SuccessfulClaim } from './claim.ts';

/**
 * Loads what an attempt sends from the vault, and composes its mails: one for all recipients; one for each recipient
 * domain where undelivered mail comes back to this service; or one for each recipient where each has an unsubscribe or view
 * link of its own, or is tracked. Mail is signed by the transport, with the keys that are loaded here.
 */

/** For mail without tokens. */
const NO_SECRET = new Uint8Array(0);

export interface LoadMailsParts {
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly system: System;
  /** Make the tokens of tracked links. */
  readonly trackingKeys: TrackingKeys;
  /** Base URL of this service for recipients, without a trailing slash. */
  publicUrl(): string;
  readonly sendingDomains: Pick<SendingDomains, 'keysOf' | 'returnHostOf' | 'trackedNameOf'>;
  /** Domain that receives bounces; absent: bounces go to the sender. */
  readonly bounceDomain?: string | undefined;
}

/** `Feedback-ID`: what mailbox providers count complaints by (message class, domain, organization, sending service). */
const feedbackIdOf = ({ accepted: { stream, domainId }, organizationId }: ExistingMessage): string =>
  `${stream}:${domainId}:${organizationId}:outbox`;

const mailOf = (
  { message: { state }, attempt, recipientIds }: SuccessfulClaim,
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
/** The token as an address; undefined: no such address. */
type AddressFor = (purpose: ReturnPurpose, to: To) => string | undefined;

/** The token of a single recipient names it; with several, the report itself does. */
const tokensOf =
  ({ message: { state } }: SuccessfulClaim, secret: Uint8Array): TokenFor =>
  (purpose, to) => {
    const { messageId } = state.accepted;
    const index = state.recipients.findIndex(({ id }) => id === to[0]?.recipientId);
    const named = { purpose, messageId, recipientIndex: index < 0 ? null : index };
    return returnPath(secret, to.length === 1 ? named : { ...named, sharesDomain: true });
  };

const NON_ASCII = /[^\0-\x7f]/;

/**
 * Sets a return path of this service. A non-ASCII envelope sender is kept: by it transports see that the mail needs
 * SMTPUTF8.
 */
const withReturnPath = (mail: OutgoingMail, addressFor: AddressFor, tokenFor: TokenFor): OutgoingMail => {
  const { from, to } = mail.envelope;
  const address = NON_ASCII.test(from) ? undefined : addressFor('bounce', to);
  return address === undefined ? mail : { ...mail, envelope: { from: address, to, id: tokenFor('envelope', to) } };
};

/** A copy for each domain: a server that reads its return address can report on its own domain's recipients only. */
const copiesByDomain = ({ message: { state } }: SuccessfulClaim, mail: OutgoingMail): readonly OutgoingMail[] => {
  const domains = new Map(state.recipients.map(({ id, domain }) => [id, domain]));
  const groups = Map.groupBy(mail.envelope.to, ({ recipientId }) => domains.get(recipientId));
  return [...groups.values()].map((to) => ({ ...mail, envelope: { from: mail.envelope.from, to } }));
};

interface OwnLinks {
  readonly isViewable: boolean;
  readonly secret: Uint8Array;
  readonly addressFor: AddressFor;
}

/** The unsubscribe link (and address) of one recipient. */
const unsubscribeOf = (
  { publicUrl }: LoadMailsParts,
  { message: { state } }: SuccessfulClaim,
  recipient: To[number],
  { secret, addressFor }: OwnLinks,
): UnsubscribeWays => {
  const token = unsubscribeToken(secret, state.accepted.messageId, recipient.recipientId);
  const mailto = addressFor('unsubscribe', [recipient]);
  const url = unsubscribeUrl(publicUrl(), token);
  return mailto === undefined ? { url } : { url, mailto };
};

/** Tracked links and image of one recipient. @returns undefined: the message is not tracked. */
const trackingOf = (
  { publicUrl, trackingKeys, sendingDomains }: LoadMailsParts,
  { message: { state } }: SuccessfulClaim,
  { body: { unsubscribe, html } }: OutgoingMail,
  { recipientId }: To[number],
): TrackedHtml | undefined => {
  const { tracking, messageId, domainId } = state.accepted;
  if (tracking === undefined || html === undefined) return undefined;
  const trackedName = sendingDomains.trackedNameOf(domainId);
  const baseUrl = trackedName === null ? publicUrl() : trackingUrl(publicUrl(), trackedName);
  const copy = { messageId, recipientId, organizationId: state.organizationId };
  return trackedHtml(trackingKeys, { copy, tracking, baseUrl, publicUrl: publicUrl(), unsubscribe });
};

/** A copy for each recipient, with links of its own. */
const copiesByRecipient = (
  parts: LoadMailsParts,
  claim: SuccessfulClaim,
  mail: OutgoingMail,
  links: OwnLinks,
): readonly OutgoingMail[] =>
  mail.envelope.to.map((recipient) => {
    const isManaged = mail.body.unsubscribe === 'managed';
    const token = viewToken(links.secret, claim.message.state.accepted.messageId, recipient.recipientId);
    const tracking = trackingOf(parts, claim, mail, recipient);
    return {
      ...mail,
      envelope: { from: mail.envelope.from, to: [recipient] },
      ...(isManaged ? { unsubscribe: unsubscribeOf(parts, claim, recipient, links) } : {}),
      ...(links.isViewable ? { viewUrl: viewUrl(parts.publicUrl(), token) } : {}),
      ...(tracking === undefined ? {} : { tracking }),
    };
  });

/** Whether it shows the recipient where it can be seen in a browser. */
const isViewable = ({ html = '', text = '' }: MessageBody): boolean => hasViewUrl(html) || hasViewUrl(text);

const isTrackedHtml = ({ accepted: { tracking } }: ExistingMessage, { html }: MessageBody): boolean =>
  tracking !== undefined && html !== undefined;

/** The organization's secret, where links or addresses of the message are made with it. */
const secretOf = (
  { secrets, system, bounceDomain }: LoadMailsParts,
  { organizationId }: ExistingMessage,
  hasLinks: boolean,
): Promise<Uint8Array> | Uint8Array =>
  hasLinks || bounceDomain !== undefined ? retry(system, () => organizationSecret(secrets, organizationId)) : NO_SECRET;

/** Data shared by all mails of a message. */
export interface Material {
  readonly body: MessageBody;
  readonly signing: readonly SigningKey[];
}

/** @throws {Error} contents are missing: a fault. */
export const loadMaterial = async (
  { contents, system, sendingDomains }: LoadMailsParts,
  state: ExistingMessage,
): Promise<Material> => {
  const [body, signing] = await Promise.all([
    retry(system, () => storedBody(contents, state)),
    retry(system, () => sendingDomains.keysOf(state.accepted.domainId)),
  ]);
  return { body, signing };
};

/** @throws {Error} the secret is missing: a fault. */
export const composeMails = async (
  parts: LoadMailsParts,
  claim: SuccessfulClaim,
  { body, signing }: Material,
): Promise<readonly OutgoingMail[]> => {
  const { sendingDomains, bounceDomain } = parts;
  const { state } = claim.message;
  const { unsubscribe } = body;
  const isManaged = unsubscribe === 'managed';
  const composed = mailOf(claim, body, signing);
  const mail = isManaged || unsubscribe === undefined ? composed : { ...composed, unsubscribe };
  const viewable = isViewable(body);
  const secret = await secretOf(parts, state, isManaged || viewable);
  // With a host of the sender's own, SPF aligns with its domain (RFC 7489 §3.1.2).
  const returnHost = sendingDomains.returnHostOf(state.accepted.domainId) ?? bounceDomain;
  const tokenFor = tokensOf(claim, secret);
  const addressFor: AddressFor = (purpose, to) =>
    bounceDomain === undefined ? undefined : `${tokenFor(purpose, to)}@${returnHost}`;
  const isPersonal = isManaged || viewable || isTrackedHtml(state, body);
  if (!isPersonal && bounceDomain === undefined) return [mail];
  const links = { isViewable: viewable, secret, addressFor };
  const mails = isPersonal ? copiesByRecipient(parts, claim, mail, links) : copiesByDomain(claim, mail);
  return mails.map((each) => withReturnPath(each, addressFor, tokenFor));
};
