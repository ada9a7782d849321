import { type ExistingMessage, isOpen } from '../../../src/domain/message/message.ts';
import type { Evidence } from '../evidence.ts';
import type { AcceptedMessage } from '../load.ts';
import { messagesOf } from '../messages-of.ts';
import { messageIdOf } from '../received-mail.ts';
import type { Violation } from '../violation.ts';

const violation = (what: string): Violation => ({ promise: 'accepted is settled', what });

/** Delivered copies by Message-ID and lower-case address. */
const arrivals = ({ mails }: Evidence): ReadonlySet<string> =>
  new Set(mails.flatMap((mail) => mail.to.map((to) => `${messageIdOf(mail)} ${to.toLowerCase()}`)));

/** Recipient addresses of a message by recipient id. */
const addressesOf = ({ contents }: Evidence, { accepted: { contentId } }: ExistingMessage) => {
  const body = contents.get(contentId);
  return new Map(body?.kind === 'message' ? body.recipients.map(({ id, address }) => [id, address.toLowerCase()]) : []);
};

const openOnes = ({ accepted: { messageId }, recipients }: ExistingMessage): readonly Violation[] =>
  recipients
    .filter(({ status }) => isOpen(status))
    .map(({ id, status }) => violation(`${messageId} was accepted, and its recipient ${id} still is ${status}`));

/** Every delivery in the log must be confirmed by the mail server. */
const pretended = (
  evidence: Evidence,
  arrived: ReadonlySet<string>,
  message: ExistingMessage,
): readonly Violation[] => {
  const addresses = addressesOf(evidence, message);
  const { messageId, internetMessageId } = message.accepted;
  return message.recipients
    .filter(({ id, status }) => status === 'delivered' && !arrived.has(`${internetMessageId} ${addresses.get(id)}`))
    .map(({ id }) => violation(`${messageId} is delivered to ${id} by the log, and no mail arrived`));
};

const forgotten = (known: ReadonlyMap<string, ExistingMessage>, { id }: AcceptedMessage): readonly Violation[] =>
  known.has(id) ? [] : [violation(`${id} was answered 202 and is not in the log`)];

/** A message must not be accepted if its client got a rejection. */
const acceptedYetRefused = ({ refused, contents }: Evidence): readonly Violation[] => {
  const marked = [...contents.values()].flatMap((body) => (body.kind === 'message' ? [body.headers['X-Load']] : []));
  return refused
    .filter((marker) => marked.includes(marker))
    .map((marker) => violation(`${marker} was refused at last, and is in the log`));
};

/** Every 202 must be in the log and have ended, and every delivery must be real. */
export const acceptedIsSettled = (evidence: Evidence): readonly Violation[] => {
  const messages = messagesOf(evidence.events);
  const known = new Map(messages.map((message) => [message.accepted.messageId, message]));
  const arrived = arrivals(evidence);
  return [
    ...evidence.accepted.flatMap((message) => forgotten(known, message)),
    ...acceptedYetRefused(evidence),
    ...messages.flatMap(openOnes),
    ...messages.flatMap((message) => pretended(evidence, arrived, message)),
  ];
};
