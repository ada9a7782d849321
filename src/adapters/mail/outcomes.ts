import type { BounceCategory } from '../../domain/bounce/categories.ts';
import { classifyReply } from '../../domain/bounce/classify.ts';
import type { EnvelopeRecipient, OutgoingMail, RecipientOutcome, ReplyStage } from '../../domain/ports/mail.ts';
import {
  isTooManyRecipients,
  type Peer,
  type SmtpReply,
  type SmtpSession,
  type SmtpStage,
  type Transmission,
} from '../../lib/smtp/smtp.ts';

/** Commands out of order or not understood, or credentials required: problems of ours, before the message is sent. */
const ABOUT_US = new Set([500, 502, 503, 530, 534, 535, 538, 555]);

/**
 * RFC 3463 §3.4 X.3.4: too large. With code 0 we found it ourselves, by the size that the server announced (RFC 1870
 * §6.1).
 */
const isTooLarge = ({ code, enhanced }: SmtpReply): boolean =>
  enhanced === '5.3.4' || (code === 552 && enhanced === null);

/** Our own reply: nothing was sent. */
const isKnownTooLarge = ({ code, enhanced }: SmtpReply): boolean => code === 0 && enhanced === '5.3.4';

/** RFC 3463 §3.4–3.6: the other side's system, its network, the protocol. Not X.4.6, since a loop is permanent. */
const isAboutSystem = ({ enhanced }: SmtpReply): boolean => /^5\.(?:[35]\.|4\.(?!6$))/.test(enhanced ?? '');

const isLoop = ({ text }: SmtpReply): boolean => /too many hops|hop count|\bloop/i.test(text);

/**
 * RFC 5321 §4.2.4: 501 and 504 are about an argument. The client has dropped optional ones by then
 * (`transaction.ts`).
 */
const isAboutArgument = ({ code }: SmtpReply): boolean => code === 501 || code === 504;

/** A line of the message was too long, which is permanent. Any other 500 is about a command. */
const isLineTooLong = ({ code, text }: SmtpReply): boolean =>
  code === 500 && /line (?:is )?too long|long line/i.test(text);

const isFinalForContent = (reply: SmtpReply): boolean =>
  isTooLarge(reply) || isLoop(reply) || !(ABOUT_US.has(reply.code) || isAboutArgument(reply) || isAboutSystem(reply));

/** A problem with the sender in MAIL: its domain (SPF, X.1.8), or its address. */
const BLAMING_SENDER: ReadonlySet<BounceCategory> = new Set(['sender_rejected', 'authentication']);

/** A rejection that does not say so may be about our session or reputation, and may be temporary. */
const isFinalForSender = (reply: SmtpReply): boolean =>
  isTooLarge(reply) ||
  isAboutArgument(reply) ||
  (!ABOUT_US.has(reply.code) && BLAMING_SENDER.has(classifyReply({ ...reply, mx: null, stage: 'mail' })));

/**
 * Decides whether a rejection is permanent. A 5xx about the sender, the recipient or the content is; one about our
 * session, our reputation, or the other side's own state may be temporary.
 */
export const refusalOutcome = (stage: SmtpStage, reply: SmtpReply): 'bounced' | 'deferred' => {
  if (reply.code < 500 && !isKnownTooLarge(reply)) return 'deferred';
  const isFinal = {
    session: () => false,
    mail: () => isFinalForSender(reply),
    recipient: () => !(ABOUT_US.has(reply.code) || isTooManyRecipients(reply)),
    content: () => isLineTooLong(reply) || isFinalForContent(reply),
  }[stage];
  return isFinal() ? 'bounced' : 'deferred';
};

interface Judgement {
  readonly outcome: Exclude<RecipientOutcome['outcome'], 'suppressed'>;
  readonly reply: SmtpReply;
  readonly stage: ReplyStage;
}

const told = (
  { recipientId }: EnvelopeRecipient,
  peer: Peer,
  { outcome, stage, reply: { code, enhanced, text } }: Judgement,
): RecipientOutcome => ({ recipientId, outcome, ...peer, stage, code, enhanced, text });

const judge = (address: string, { rejected, earlier, end: last }: Transmission): Judgement => {
  const rejection = rejected.get(address);
  if (rejection !== undefined) {
    return { outcome: refusalOutcome('recipient', rejection), reply: rejection, stage: 'recipient' };
  }
  const end = earlier.get(address) ?? last;
  const { reply } = end;
  switch (end.kind) {
    case 'accepted':
      return { outcome: 'delivered', reply, stage: 'content' };
    case 'refused':
      return { outcome: refusalOutcome(end.stage, reply), reply, stage: end.stage };
    case 'broken':
      return { outcome: end.finalDot ? 'unknown' : 'deferred', reply, stage: end.begun ? 'content' : 'session' };
    default:
      return end satisfies never;
  }
};

/** Outcomes of one transaction for its recipients. */
export const transactionOutcomes = (
  recipients: readonly EnvelopeRecipient[],
  peer: Peer,
  transmission: Transmission,
): readonly RecipientOutcome[] =>
  recipients.map((recipient) => told(recipient, peer, judge(recipient.address, transmission)));

const noPeer = (mx: string): Peer => ({ mx, address: null, tls: null, cipher: null, policy: null });

/** Nothing was sent. @param peer null: no server was asked. */
export const deferredAll = (
  { envelope }: OutgoingMail,
  mx: string,
  reply: SmtpReply,
  peer: Peer | null = null,
): readonly RecipientOutcome[] => {
  const stage = reply.code > 0 || reply.enhanced !== null ? 'session' : 'connect'; // a code of ours is about the session
  return envelope.to.map((recipient) => told(recipient, peer ?? noPeer(mx), { outcome: 'deferred', reply, stage }));
};

/** RFC 6531 §3.2, as our own reply: such a server cannot even be asked. */
const NO_UTF8: SmtpReply = { code: 0, enhanced: '5.6.7', text: 'the server accepts no addresses outside ASCII' };

export const refusedForAlphabet = (recipients: readonly EnvelopeRecipient[], peer: Peer): readonly RecipientOutcome[] =>
  recipients.map((recipient) => told(recipient, peer, { outcome: 'bounced', reply: NO_UTF8, stage: 'session' }));

const NON_ASCII = /[^\0-\x7f]/;

/** Splits recipients by whether this session can transmit their address and the sender's. */
export const splitByAlphabet = ({ envelope }: OutgoingMail, session: SmtpSession) => {
  const acceptsUtf8 = session.acceptsUtf8();
  const isWritable = ({ address }: EnvelopeRecipient): boolean =>
    acceptsUtf8 || !(NON_ASCII.test(envelope.from) || NON_ASCII.test(address));
  return {
    writable: envelope.to.filter(isWritable),
    unwritable: envelope.to.filter((recipient) => !isWritable(recipient)),
  };
};

/** Sorts outcomes in the order of the envelope. */
export const inOrder = (
  { envelope }: OutgoingMail,
  outcomes: readonly RecipientOutcome[],
): readonly RecipientOutcome[] => {
  const byId = new Map(outcomes.map((outcome) => [outcome.recipientId, outcome]));
  return envelope.to.flatMap(({ recipientId }) => byId.get(recipientId) ?? []);
};
