import { type LoadedStream, load } from '../../commands/execute.ts';
import { storedBody } from '../../commands/message/send-message.ts';
import { organizationSecret } from '../../commands/organization.ts';
import type { Environment } from '../../domain/kernel/environment.ts';
import { messageStream } from '../../domain/kernel/streams.ts';
import type { AttemptOutcome } from '../../domain/message/attempt.ts';
import { type ExistingMessage, type Message, message } from '../../domain/message/message.ts';
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
import type { MailTransport, OutgoingMail, TrackedHtml } from '../../domain/ports/mail.ts';
import type { Secrets } from '../../domain/ports/secrets.ts';
import { type TrackingKeys, trackedHtml, trackingUrl } from '../../domain/tracking/tracking.ts';
import { type Logger, retry, type Semaphore, type System } from '../../lib/async/async.ts';
import type { UnsubscribeWays } from '../../lib/mime/mime.ts';
import type { SigningKey } from '../../lib/smtp/smtp.ts';
import type { SendingDomains } from '../domains/sending-domains.ts';
import { type ClaimParts, claimDue, countOutcomes, isHeld, isLive, logAttempt, type SuccessfulClaim } from './claim.ts';
import type { AcceptedCache } from './dispatch.ts';
import type { DueMail } from './due.ts';
import { completionOf, type Moment, momentOf } from './fence.ts';
import {
  type AttemptReport,
  type CutOff,
  postponed,
  recordOutcome,
  reportOf,
  type UnrecordedOutcomes,
} from './record.ts';

/** Delivers a message: one attempt at what is due of it, from the claim to the outcome of its last mail. */

export interface DeliverParts extends Omit<LoadMailsParts, 'sendingDomains'>, Omit<ClaimParts, 'sendingDomains'> {
  readonly sendingDomains: LoadMailsParts['sendingDomains'] & ClaimParts['sendingDomains'];
  readonly transports: Readonly<Record<Environment, MailTransport>>;
  readonly acceptedCache: Pick<AcceptedCache, 'take'>;
  readonly logger: Logger;
}

export interface Deliver extends DeliverParts {
  /** Bounds the messages in memory, by `sizeBytes`: one for messages of such a size. */
  bytesInFlight(sizeBytes: number): Semaphore;
  readonly unrecorded: UnrecordedOutcomes;
  /** Aborts when this process ends. */
  readonly ending: AbortSignal;
  /** Whether its destination is suspended for its sending domain. It is looked at again a minute later. */
  isKeptBack(message: ExistingMessage): boolean;
}

/** An attempt that was made; it is over when `reported` is recorded (`recordOutcome`). */
export interface DeliveryAttempt {
  readonly claim: SuccessfulClaim;
  /** Report of its last mail. */
  readonly reported: AttemptReport;
  /** Outcomes of all its mails, from which the limits of the destination learn. */
  readonly outcomes: readonly AttemptOutcome[];
  /** Duration of the slowest mail. */
  readonly tookMs: number;
}

interface Limits {
  /** Before the attempt was claimed. */
  readonly begun: Moment;
  readonly signal: AbortSignal;
}

/**
 * Load, claim (unless suppressed or held), compose, sign, connect, send, record. The caller records the outcome of the
 * last mail, so that the place in the destination queue is free in the meantime.
 * @returns null if there was no work to do.
 */
export const deliver = async (parts: Deliver, due: DueMail, signal: AbortSignal): Promise<DeliveryAttempt | null> => {
  const known = await loadMessage(parts, due.messageId);
  const { state } = known;
  if (state.status === 'absent') return null;
  if (parts.isHeldAfterRestore?.(state) === true || (due.isExpired !== true && parts.isKeptBack(state))) {
    parts.recentlyQueued.addNotDue(due, parts.system.now().toISOString());
    return null;
  }
  await parts.unrecorded.room(() => !signal.aborted);
  if (signal.aborted) return null;
  // The claim follows the wait for memory: a lease does not run while larger messages are sent.
  const claimAndSend = async (): Promise<DeliveryAttempt | null> => {
    if (signal.aborted) return null;
    const begun = momentOf(parts.system);
    // Read while the claim is committed. If the claim fails, the result and any fault of the read are ignored.
    const material = loadMaterial(parts, state);
    material.catch(() => undefined);
    const claim = await claimDue(parts, due, known, signal);
    return claim && composeAndSend(parts, claim, material, { begun, signal });
  };
  const { sizeBytes } = state.accepted;
  return parts.bytesInFlight(sizeBytes).run(claimAndSend, sizeBytes, state.organizationId);
};

const loadMessage = async ({ acceptedCache, store }: Deliver, messageId: string): Promise<LoadedStream<Message>> =>
  acceptedCache.take(messageId) ?? (await load(store, message, messageStream(messageId)));

const composeAndSend = async (
  parts: Deliver,
  claim: SuccessfulClaim,
  material: Promise<Material>,
  limits: Limits,
): Promise<DeliveryAttempt> => {
  let mails: readonly OutgoingMail[];
  try {
    mails = await composeMails(parts, claim, await material);
  } catch (error) {
    return notSent(parts, claim, claim.recipientIds, error);
  }
  // Not inside the try: once a mail has left, a fault leaves the attempt in doubt, and is no reason to send it again.
  return sendAll(parts, claim, mails, limits);
};

/** Nothing was sent: because of a fault (contents are missing, mail cannot be composed) or because the claim was lost. */
const nothingSent = (claim: SuccessfulClaim, reported: AttemptReport = postponed([], '')): DeliveryAttempt => ({
  claim,
  reported,
  outcomes: reported.outcomes,
  tookMs: 0,
});

/** The attempt after one more of its mails. */
const withEarlier = (earlier: DeliveryAttempt, last: DeliveryAttempt): DeliveryAttempt => ({
  ...last,
  outcomes: [...earlier.outcomes, ...last.outcomes],
  tookMs: Math.max(earlier.tookMs, last.tookMs),
});

/** A fault is logged as an error and defers the recipients. It never ends a message. */
const notSent = (
  { logger }: Deliver,
  claim: SuccessfulClaim,
  ids: readonly string[],
  err: unknown,
): DeliveryAttempt => {
  const { messageId } = claim.message.state.accepted;
  logger.error({ messageId, err }, 'could not send a message: it will be retried');
  return nothingSent(claim, postponed(ids, 'a fault of the sending service'));
};

/**
 * Sends an attempt's mails one after another: all at once would hold as many copies in memory. Each outcome is recorded
 * before the next mail leaves, so that one mail at most is in doubt. When the claim is lost nothing more leaves.
 * @returns the last, unrecorded.
 */
const sendAll = async (
  parts: Deliver,
  claim: SuccessfulClaim,
  [first, ...further]: readonly OutgoingMail[],
  limits: Limits,
): Promise<DeliveryAttempt> => {
  if (first === undefined) return nothingSent(claim);
  let attempted = await sendMail(parts, claim, first, { ...limits, confirmed: limits.begun });
  for (const mail of further) {
    const confirmed = momentOf(parts.system);
    const next: SuccessfulClaim = { ...claim, message: await recordOutcome(parts, attempted) };
    if (!isHeld(next.message.state, next.attempt)) return withEarlier(attempted, nothingSent(next));
    attempted = withEarlier(attempted, await sendMail(parts, next, mail, { ...limits, confirmed }));
  }
  return attempted;
};

/** Timers end an attempt some milliseconds early. Longer blames the log for what a mail server answered late. */
const EARLY_MS_MAX = 50;

/** Why the attempt was cut off. An attempt waits for a log that is away, and so can use up its time. */
const cutOffOf = ({ system, times, logWatch }: Deliver, begun: Moment, signal: AbortSignal): CutOff | null => {
  if (signal.aborted) return 'the service was stopping';
  const isOver = system.monotonicMs() - begun.monotonicMs >= times.attemptMs - EARLY_MS_MAX;
  return isOver && logWatch?.wasAwaySince(begun.monotonicMs) === true ? 'the event log was not available' : null;
};

const sendMail = async (
  parts: Deliver,
  claim: SuccessfulClaim,
  mail: OutgoingMail,
  { begun, confirmed, signal }: Limits & { readonly confirmed: Moment },
): Promise<DeliveryAttempt> => {
  const { times, system, transports } = parts;
  const { state } = claim.message;
  const recipientIds = new Set(mail.envelope.to.map(({ recipientId }) => recipientId));
  const beganMs = system.monotonicMs();
  const completion = completionOf(parts, { claim, recipientIds, begun, confirmed, signal });
  try {
    const recipientOutcomes = await transports[state.environment].send(mail, {
      deadlineMs: begun.monotonicMs + times.attemptMs,
      signal,
      mayComplete: completion.mayComplete,
    });
    const reported = reportOf(state, recipientOutcomes, { ...system, cutOff: cutOffOf(parts, begun, signal) });
    const tookMs = system.monotonicMs() - beganMs;
    if (isLive(state)) countOutcomes(parts.metrics, { recipientOutcomes, outcomes: reported.outcomes, tookMs });
    logAttempt(parts.logger, state, { attempt: claim.attempt, outcomes: reported.outcomes, tookMs });
    return { claim, reported, outcomes: reported.outcomes, tookMs };
  } catch (error) {
    return notSent(parts, claim, [...recipientIds], error);
  } finally {
    completion.ended();
  }
};

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
  organizationId: state.organizationId,
  stream: state.accepted.stream,
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
interface Material {
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
