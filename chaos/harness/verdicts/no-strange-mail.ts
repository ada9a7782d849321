import type { ExistingMessage } from '../../../src/domain/message/message.ts';
import type { Evidence } from '../evidence.ts';
import { messagesOf } from '../messages-of.ts';
import { messageIdOf } from '../received-mail.ts';
import type { SinkMail } from '../smtp-sink.ts';
import type { Violation } from '../violation.ts';

const violation = (what: string): Violation => ({ promise: 'no strange mail', what });

const addressesOf = ({ contents }: Evidence, { accepted: { contentId } }: ExistingMessage): readonly string[] => {
  const body = contents.get(contentId);
  return body?.kind === 'message' ? body.recipients.map(({ address }) => address.toLowerCase()) : [];
};

/** Finds recipients that the message did not have, and mail sent before its time. */
const problemsOf = (evidence: Evidence, mail: SinkMail, message: ExistingMessage): readonly Violation[] => {
  const addressees = addressesOf(evidence, message);
  const strangers = mail.to.filter((to) => !addressees.includes(to.toLowerCase()));
  const { schedule, accepted } = message;
  const isEarly = schedule !== null && mail.atMs < Date.parse(schedule.first);
  return [
    ...strangers.map((to) => violation(`${accepted.messageId} reached ${to}, who is not a recipient`)),
    ...(isEarly ? [violation(`${accepted.messageId} left before ${schedule.first}`)] : []),
  ];
};

/** Every mail must belong to an accepted message, reach one of its recipients and not be early. */
export const noStrangeMail = (evidence: Evidence): readonly Violation[] => {
  const messages = new Map(messagesOf(evidence.events).map((each) => [each.accepted.internetMessageId, each]));
  return evidence.mails.flatMap((mail) => {
    const message = messages.get(messageIdOf(mail));
    if (message === undefined) return [violation(`mail ${messageIdOf(mail)} is of no accepted message`)];
    return problemsOf(evidence, mail, message);
  });
};
