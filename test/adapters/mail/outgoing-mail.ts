import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import type { OutgoingMail } from '../../../src/domain/ports/mail.ts';

export type MailParts = Partial<MessageBody> &
  Partial<Pick<OutgoingMail, 'attempt' | 'feedbackId' | 'organizationId' | 'signing' | 'stream'>> & {
    readonly envelopeTo?: readonly string[];
  };

/** A message to `to@b.test`, with the fields that a test changes. The envelope contains all recipients. */
export const outgoingMail = ({
  envelopeTo,
  attempt = 1,
  feedbackId,
  organizationId,
  signing,
  stream,
  ...parts
}: MailParts = {}): OutgoingMail => {
  const body: MessageBody = {
    kind: 'message',
    messageId: 'msg_aaaaaaaaaaaaaaaaaaaaaaaaaa',
    from: { address: 'from@a.test' },
    recipients: [{ id: 'rcp_1', kind: 'to', address: 'to@b.test' }],
    replyTo: [],
    subject: 'Subject',
    headers: {},
    attachments: [],
    tags: [],
    metadata: {},
    ...(parts.html === undefined && { text: 'Text' }),
    ...parts,
  };
  const to =
    envelopeTo?.map((address, index) => ({ recipientId: `rcp_${index + 1}`, address })) ??
    body.recipients.map(({ id, address }) => ({ recipientId: id, address }));
  return {
    envelope: { from: body.from.address, to },
    messageId: '<0123456789@a.test>',
    body,
    ...(typeof body.unsubscribe === 'object' && { unsubscribe: body.unsubscribe }),
    ...(feedbackId !== undefined && { feedbackId }),
    ...(signing !== undefined && { signing }),
    ...(organizationId !== undefined && { organizationId }),
    ...(stream !== undefined && { stream }),
    date: new Date('2026-01-02T03:04:05Z'),
    attempt,
  };
};
