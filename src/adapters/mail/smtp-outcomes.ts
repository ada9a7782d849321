import type { EnvelopeRecipient, OutgoingMail, RecipientOutcome } from '../../domain/mail-transport.ts';
import { refusalOutcome, type SmtpReply } from './smtp-reply.ts';
import type { SmtpSession } from './smtp-session.ts';
import type { Transmission } from './smtp-transaction.ts';

interface Judgement {
  readonly outcome: Exclude<RecipientOutcome['outcome'], 'suppressed'>;
  readonly reply: SmtpReply;
}

/** Who answered. */
export interface Side {
  readonly mx: string;
  readonly tls: string | null;
}

const told = (
  { recipientId }: EnvelopeRecipient,
  { mx, tls }: Side,
  { outcome, reply: { code, enhanced, text } }: Judgement,
): RecipientOutcome => ({ recipientId, outcome, mx, tls, code, enhanced, text });

const judge = (address: string, { rejected, end }: Transmission): Judgement => {
  const rejection = rejected.get(address);
  if (rejection !== undefined) return { outcome: refusalOutcome('recipient', rejection), reply: rejection };
  const { reply } = end;
  switch (end.kind) {
    case 'accepted':
      return { outcome: 'delivered', reply };
    case 'refused':
      return { outcome: refusalOutcome(end.stage, reply), reply };
    case 'broken':
      return { outcome: end.finalDot ? 'unknown' : 'deferred', reply };
    default:
      return end satisfies never;
  }
};

/** What one transaction came to for those it was for. */
export const transactionOutcomes = (
  recipients: readonly EnvelopeRecipient[],
  side: Side,
  transmission: Transmission,
): readonly RecipientOutcome[] =>
  recipients.map((recipient) => told(recipient, side, judge(recipient.address, transmission)));

/** Nothing was sent to anybody. */
export const deferredAll = ({ envelope }: OutgoingMail, mx: string, reply: SmtpReply): readonly RecipientOutcome[] =>
  envelope.to.map((recipient) => told(recipient, { mx, tls: null }, { outcome: 'deferred', reply }));

/** RFC 6531 §3.2, said by us: such a server cannot even be asked. */
const NO_UTF8: SmtpReply = { code: 0, enhanced: '5.6.7', text: 'the server accepts no addresses outside ASCII' };

export const refusedForAlphabet = (recipients: readonly EnvelopeRecipient[], side: Side): readonly RecipientOutcome[] =>
  recipients.map((recipient) => told(recipient, side, { outcome: 'bounced', reply: NO_UTF8 }));

const NON_ASCII = /[^\0-\x7f]/;

/** Recipients this session can be asked about, and those whose address (or the sender's) it cannot be told. */
export const splitByAlphabet = ({ envelope }: OutgoingMail, { acceptsUtf8 }: SmtpSession) => {
  const isWritable = ({ address }: EnvelopeRecipient): boolean =>
    acceptsUtf8 || !(NON_ASCII.test(envelope.from) || NON_ASCII.test(address));
  return {
    writable: envelope.to.filter(isWritable),
    unwritable: envelope.to.filter((recipient) => !isWritable(recipient)),
  };
};

/** In the order of the envelope. */
export const inOrder = (
  { envelope }: OutgoingMail,
  outcomes: readonly RecipientOutcome[],
): readonly RecipientOutcome[] => {
  const byId = new Map(outcomes.map((outcome) => [outcome.recipientId, outcome]));
  return envelope.to.flatMap(({ recipientId }) => byId.get(recipientId) ?? []);
};
