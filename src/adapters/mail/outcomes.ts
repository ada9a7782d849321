import type { EnvelopeRecipient, OutgoingMail, RecipientOutcome, ReplyStage } from '../../domain/ports/mail.ts';
import type { Peer, SmtpReply, SmtpSession, Transmission } from '../../lib/smtp/smtp.ts';
import { refusalOutcome } from './refusal.ts';

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
