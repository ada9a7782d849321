import { classifyReply } from '../../domain/bounce/classify.ts';
import type { BounceCategory } from '../../domain/bounce/reply-words.ts';
import { isTooManyRecipients, type SmtpReply, type SmtpStage } from '../../lib/smtp/smtp.ts';

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
 * RFC 5321 §4.2.4: 501 and 504 are about an argument. Optional ones have already been dropped by then
 * (`transmission.ts`).
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
