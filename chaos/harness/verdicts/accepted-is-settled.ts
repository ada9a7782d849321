import type { ExistingMessage } from '../../../src/domain/message/message.ts';
import { isOpen } from '../../../src/domain/message/recipient.ts';
import type { Evidence } from '../evidence.ts';
import type { AcceptedMessage } from '../load.ts';
import { messagesOf } from '../messages-of.ts';
import { messageIdOf } from '../received-mail.ts';
import type { Violation } from '../violation.ts';

const violation = (what: string): Violation => ({ promise: 'accepted is settled', what });

/** By Message-ID and address, lower case. */
const arrivals = ({ mails }: Evidence): ReadonlySet<string> =>
  new Set(mails.flatMap((mail) => mail.to.map((to) => `${messageIdOf(mail)} ${to.toLowerCase()}`)));

/** Addresses of a message's recipients by their ids. */
const addressesOf = ({ contents }: Evidence, { accepted: { contentId } }: ExistingMessage) => {
  const body = contents.get(contentId);
  return new Map(body?.kind === 'message' ? body.recipients.map(({ id, address }) => [id, address.toLowerCase()]) : []);
};

const openOnes = ({ accepted: { messageId }, recipients }: ExistingMessage): readonly Violation[] =>
  recipients
    .filter(({ status }) => isOpen(status))
    .map(({ id, status }) => violation(`${messageId} was accepted, and its recipient ${id} still is ${status}`));

/** The log says delivered: then the mail server says so too. */
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

/** A client that was refused need not fear that it was accepted all the same. */
const acceptedYetRefused = ({ refused, contents }: Evidence): readonly Violation[] => {
  const marked = [...contents.values()].flatMap((body) => (body.kind === 'message' ? [body.headers['X-Load']] : []));
  return refused
    .filter((marker) => marked.includes(marker))
    .map((marker) => violation(`${marker} was refused at last, and is in the log`));
};

/** Every 202 is in the log, has ended, and if it was delivered then really so. */
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
