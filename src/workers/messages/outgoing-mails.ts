import type { Claim } from '../../commands/message/start-attempt.ts';
import { storedBody } from '../../commands/message/stored-body.ts';
import { organizationSecret } from '../../commands/organization/organization-secret.ts';
import type { Contents, MessageBody } from '../../domain/contents.ts';
import type { OutgoingMail } from '../../domain/mail-transport.ts';
import { unsubscribeToken } from '../../domain/message/unsubscribe-token.ts';
import type { Secrets } from '../../domain/secrets.ts';
import type { System } from '../../domain/system.ts';
import { persistently } from '../persistently.ts';

export type Claimed = Extract<Claim, { claimed: true }>;

export interface OutgoingMailParts {
  readonly contents: Contents;
  readonly secrets: Secrets;
  readonly system: System;
  /** Where recipients reach this service: without a slash at its end. */
  publicUrl(): string;
}

const mailOf = ({ message: { state }, attempt, recipientIds }: Claimed, body: MessageBody): OutgoingMail => ({
  envelope: {
    from: body.from.address,
    to: body.recipients
      .filter(({ id }) => recipientIds.includes(id))
      .map(({ id, address }) => ({ recipientId: id, address })),
  },
  messageId: state.accepted.internetMessageId,
  body,
  date: new Date(state.acceptedAt),
  attempt,
});

/** A copy for each recipient, with a link that is nobody else's. */
const linkedCopies = async (
  { secrets, system, publicUrl }: OutgoingMailParts,
  { message: { state } }: Claimed,
  mail: OutgoingMail,
): Promise<readonly OutgoingMail[]> => {
  const secret = await persistently(system, () => organizationSecret(secrets, state.organizationId));
  const { from, to } = mail.envelope;
  return to.map((recipient) => {
    const token = unsubscribeToken(secret, state.accepted.messageId, recipient.recipientId);
    return {
      ...mail,
      envelope: { from, to: [recipient] },
      unsubscribe: { url: `${publicUrl()}/unsubscribe/${token}` },
    };
  });
};

/**
 * What a claimed attempt sends: one mail for all of its recipients, or one for each where each has its own link.
 * @throws {Error} contents or secret are missing: faults.
 */
export const loadMails = async (parts: OutgoingMailParts, claim: Claimed): Promise<readonly OutgoingMail[]> => {
  const { contents, system } = parts;
  const body = await persistently(system, () => storedBody(contents, claim.message.state));
  const mail = mailOf(claim, body);
  if (body.unsubscribe === undefined) return [mail];
  if (body.unsubscribe === 'managed') return linkedCopies(parts, claim, mail);
  return [{ ...mail, unsubscribe: body.unsubscribe }];
};
