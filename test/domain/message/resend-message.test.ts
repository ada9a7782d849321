import { describe, expect, test } from 'vitest';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import { type ExistingMessage, type Message, message } from '../../../src/domain/message/message.ts';
import { resendMessage, unreachedRecipients } from '../../../src/domain/message/resend-message.ts';
import { about, messageAccepted, recipient, smtpReply } from '../../support/controls/message.ts';
import { specify } from '../../support/specification.ts';

const ended = (
  type: 'RecipientExpired' | 'RecipientFailed' | 'RecipientSuppressed' | 'RecipientCancelled',
  id: string,
) => ({ type, data: { ...about, sequence: 9, recipientId: id, reason: 'because of this' } }) as MessageEvent;
const attempted = { ...about, sequence: 9, attempt: 1 };
const bounced: MessageEvent = {
  type: 'RecipientBounced',
  data: { ...attempted, recipientId: 'rcp_1', smtp: smtpReply(550), reason: 'no such user' },
};
const delivered: MessageEvent = {
  type: 'RecipientDelivered',
  data: { ...attempted, recipientId: 'rcp_2', smtp: smtpReply() },
};
const IDS = ['rcp_1', 'rcp_2', 'rcp_3', 'rcp_4', 'rcp_5', 'rcp_6', 'rcp_7'];
const HISTORY: readonly MessageEvent[] = [
  messageAccepted({ recipients: IDS.map((id) => recipient(id)) }),
  bounced,
  delivered,
  ended('RecipientExpired', 'rcp_3'),
  ended('RecipientFailed', 'rcp_4'),
  ended('RecipientSuppressed', 'rcp_5'),
  ended('RecipientCancelled', 'rcp_6'),
];
const UNREACHED = ['rcp_1', 'rcp_3', 'rcp_4', 'rcp_5'];

const resend =
  (recipientIds: readonly string[], resentAs = 'msg_2', organizationId = 'org_mine') =>
  (state: Message) =>
    resendMessage(state, { organizationId, recipientIds, resentAs });
const reserved = (recipientIds: readonly string[], resentAs = 'msg_2'): MessageEvent => ({
  type: 'RecipientsResent',
  data: { ...about, sequence: 14, recipientIds: [...recipientIds], resentAs },
});

describe('sending a message again', () => {
  const { given } = specify(message);
  const existing = given(HISTORY).state as ExistingMessage;

  test('concerns recipients that it did not reach, and none that are open, delivered or cancelled', () => {
    expect(unreachedRecipients(existing, null).map(({ id }) => id)).toEqual(UNREACHED);
    expect(unreachedRecipients(existing, ['rcp_4']).map(({ id }) => id)).toEqual(['rcp_4']);
  });

  test('names each recipient that cannot be sent to again', () => {
    expect(() => unreachedRecipients(existing, ['rcp_1', 'rcp_2', 'rcp_7', 'rcp_6', 'rcp_9'])).toThrow(
      expect.objectContaining({
        code: 'nothing_to_resend',
        details: {
          recipient_ids: [
            'recipient_ids[1] is delivered',
            'recipient_ids[2] is accepted',
            'recipient_ids[3] is cancelled',
            'recipient_ids[4] is not a recipient of the message',
          ],
        },
      }),
    );
    const delivered = given([messageAccepted({ recipients: [recipient('rcp_1')] })]).state as ExistingMessage;
    expect(() => unreachedRecipients(delivered, null)).toThrow(expect.objectContaining({ code: 'nothing_to_resend' }));
  });

  test('records the new message at each recipient, and produces no customer event', () => {
    const { when } = given(HISTORY);
    when(resend(['rcp_1', 'rcp_4'])).thenEvents(reserved(['rcp_1', 'rcp_4']));
    const { state } = given([...HISTORY, reserved(['rcp_1', 'rcp_4'])]);
    const after = state as ExistingMessage;
    expect(after.recipients.map(({ resentAs }) => resentAs)).toEqual(['msg_2', null, null, 'msg_2', null, null, null]);
    expect(after.recipients.map(({ status }) => status)).toEqual(existing.recipients.map(({ status }) => status));
    expect(after.nextSequence).toBe(existing.nextSequence);
  });

  test('reserves all or none: the second of two requests for one recipient reserves nothing', () => {
    given([...HISTORY, reserved(['rcp_1'])])
      .when(resend(['rcp_1', 'rcp_3'], 'msg_3'))
      .thenNothing();
    given([...HISTORY, reserved(['rcp_1'])])
      .when(resend(['rcp_3'], 'msg_3'))
      .thenEvents(reserved(['rcp_3'], 'msg_3'));
  });

  test('is refused for the message of another organization, and for none', () => {
    given(HISTORY)
      .when(resend(['rcp_1'], 'msg_2', 'org_other'))
      .thenRefused('other_organization');
    given([])
      .when(resend(['rcp_1']))
      .thenRefused('not_found');
  });
});
