import { describe, test } from 'vitest';
import type { MessageEvent } from '../../../src/domain/kernel/events.ts';
import type { ReportDoubt } from '../../../src/domain/message/events.ts';
import { type Message, message } from '../../../src/domain/message/message.ts';
import { type ReportedRecipient, recordReport } from '../../../src/domain/message/recipient-feedback.ts';
import {
  about,
  attemptStarted,
  messageAccepted,
  messageScheduled,
  recipient,
  smtpReply,
} from '../../support/controls/message.ts';
import { specify } from '../../support/specification.ts';

const { given } = specify(message);

const failure = (recipientId: string, isPermanent = true): ReportedRecipient => ({
  kind: 'failure',
  recipientId,
  isPermanent,
  category: 'no_mailbox',
  smtp: smtpReply(550),
});
const complaint = (recipientId: string): ReportedRecipient => ({ kind: 'complaint', recipientId });
const reporting =
  (...reported: readonly ReportedRecipient[]) =>
  (state: Message) =>
    recordReport(state, reported);

const attempted = { ...about, attempt: 1, smtp: smtpReply() };
const delivered = (recipientId: string, sequence: number): MessageEvent => ({
  type: 'RecipientDelivered',
  data: { ...attempted, recipientId, sequence },
});
const deferred = (recipientId: string, sequence: number): MessageEvent => ({
  type: 'RecipientDeferred',
  data: { ...attempted, recipientId, sequence, reason: 'later', nextAttemptAt: '2026-11-21T13:00:00.000Z' },
});
const bounced = (recipientId: string, sequence: number, late: { readonly late?: true } = {}): MessageEvent => ({
  type: 'RecipientBounced',
  data: {
    ...about,
    attempt: 1,
    recipientId,
    sequence,
    smtp: smtpReply(550),
    category: 'no_mailbox',
    ...late,
    reason: 'a report says that it could not be delivered',
  },
});
const noted = (recipientId: string, sequence: number, why: { readonly doubt: ReportDoubt }): MessageEvent => ({
  type: 'RecipientReportNoted',
  data: { ...about, recipientId, sequence, report: 'failure', smtp: smtpReply(550), category: 'no_mailbox', ...why },
});
const ended = (type: 'RecipientExpired' | 'RecipientCancelled' | 'RecipientSuppressed' | 'RecipientFailed') =>
  ({ type, data: { ...about, recipientId: 'rcp_1', sequence: 3, reason: 'over' } }) satisfies MessageEvent;
const complained: MessageEvent = { type: 'RecipientComplained', data: { ...about, recipientId: 'rcp_1', sequence: 4 } };

const sent = [messageAccepted(), attemptStarted(1, ['rcp_1'])];
const two = [
  messageAccepted({ recipients: [recipient('rcp_1'), recipient('rcp_2')] }),
  attemptStarted(1, ['rcp_1', 'rcp_2'], { sequence: 3 }),
  delivered('rcp_1', 5),
  deferred('rcp_2', 6),
];

describe('a report', () => {
  const from = { ...attempted, smtp: { ...smtpReply(), source: '192.0.2.8' }, recipientId: 'rcp_1', sequence: 3 };
  const history = [...sent, { type: 'RecipientDelivered', data: from }] satisfies MessageEvent[];

  test('names the address of this service that the copy came from', () => {
    given(history)
      .when(reporting(complaint('rcp_1')))
      .thenEvents({
        type: 'RecipientComplained',
        data: { ...about, recipientId: 'rcp_1', sequence: 4, source: '192.0.2.8' },
      });
    const { type, data } = bounced('rcp_1', 4, { late: true }) as Extract<MessageEvent, { type: 'RecipientBounced' }>;
    given(history)
      .when(reporting(failure('rcp_1')))
      .thenEvents({ type, data: { ...data, smtp: { ...smtpReply(550), source: '192.0.2.8' } } });
  });
});

describe('a report that delivery failed', () => {
  test('turns delivered into bounced, and is marked as late', () => {
    const { when } = given([...sent, delivered('rcp_1', 3)]);
    when(reporting(failure('rcp_1'))).thenEvents(bounced('rcp_1', 4, { late: true }));
    when(reporting(failure('rcp_1'))).thenState({ recipients: [{ status: 'bounced', category: 'no_mailbox' }] });
  });
  test('after several attempts turns delivered into bounced as well', () => {
    given([...sent, delivered('rcp_1', 3)])
      .when(reporting(failure('rcp_1', false)))
      .thenEvents(bounced('rcp_1', 4, { late: true }));
  });
  test('ends a recipient that waits for another attempt, if it is permanent', () => {
    const { when } = given([...sent, deferred('rcp_1', 3)]);
    when(reporting(failure('rcp_1'))).thenEvents(bounced('rcp_1', 4));
    when(reporting(failure('rcp_1'))).thenState({ recipients: [{ status: 'bounced', nextAttemptAt: null }] });
    when(reporting(failure('rcp_1', false))).thenNothing();
  });
  test.each(['unconfirmed', 'address_behind'] as const)('that is %s is recorded once, and nothing changes', (doubt) => {
    const note = noted('rcp_1', 7, { doubt });
    const { when } = given(two);
    when(reporting({ ...failure('rcp_1'), doubt })).thenEvents(note);
    when(reporting({ ...failure('rcp_1'), doubt })).thenState({
      recipients: [{ status: 'delivered', category: null }, { status: 'deferred' }],
      nextSequence: 7,
    });
    given([...two, note])
      .when(reporting({ ...failure('rcp_1'), doubt }))
      .thenNothing();
    given([...two, note])
      .when(reporting(failure('rcp_1')))
      .thenEvents(bounced('rcp_1', 7, { late: true }));
  });
  test('that cannot be true is not recorded either', () => {
    given([...sent, ended('RecipientExpired')])
      .when(reporting({ ...failure('rcp_1'), doubt: 'unconfirmed' }))
      .thenNothing();
    given([messageAccepted()])
      .when(reporting({ ...failure('rcp_1'), doubt: 'unconfirmed' }, { ...complaint('rcp_1'), doubt: 'unconfirmed' }))
      .thenNothing();
  });
  test('may come before the outcome of the attempt, which then comes too late', () => {
    given(sent)
      .when(reporting(failure('rcp_1')))
      .thenState({ recipients: [{ status: 'bounced', lease: null }] });
  });
  test('is about each recipient that it names', () => {
    given(two)
      .when(reporting(failure('rcp_2'), failure('rcp_1'), failure('rcp_1')))
      .thenEvents(bounced('rcp_1', 7, { late: true }), bounced('rcp_2', 8));
  });
  test('changes nothing a second time', () => {
    given([...sent, delivered('rcp_1', 3), bounced('rcp_1', 4, { late: true })])
      .when(reporting(failure('rcp_1')))
      .thenNothing();
  });
  test.each(['RecipientExpired', 'RecipientCancelled', 'RecipientSuppressed', 'RecipientFailed'] as const)(
    'changes nothing after %s',
    (type) => {
      given([...sent, ended(type)])
        .when(reporting(failure('rcp_1')))
        .thenNothing();
    },
  );
  test('changes nothing for unsent mail, for strangers, and without a message', () => {
    given([messageAccepted()])
      .when(reporting(failure('rcp_1'), complaint('rcp_1')))
      .thenNothing();
    given([messageAccepted(), messageScheduled()])
      .when(reporting(failure('rcp_1')))
      .thenNothing();
    given([...sent, delivered('rcp_1', 3)])
      .when(reporting(failure('rcp_9')))
      .thenNothing();
    given([])
      .when(reporting(failure('rcp_1'), complaint('rcp_1')))
      .thenNothing();
  });
});

describe('a complaint', () => {
  test('is recorded once', () => {
    given([...sent, delivered('rcp_1', 3)])
      .when(reporting(complaint('rcp_1'), complaint('rcp_1')))
      .thenEvents(complained);
    given([...sent, delivered('rcp_1', 3), complained])
      .when(reporting(complaint('rcp_1')))
      .thenNothing();
  });
  test('that a recipient of the same copy could have written is recorded once, and sets no mark', () => {
    const unconfirmed = { ...complaint('rcp_1'), doubt: 'unconfirmed' } as const;
    const { when } = given([...sent, delivered('rcp_1', 3)]);
    when(reporting(unconfirmed)).thenEvents({
      type: 'RecipientReportNoted',
      data: { ...about, recipientId: 'rcp_1', sequence: 4, report: 'complaint', doubt: 'unconfirmed' },
    });
    when(reporting(unconfirmed)).thenState({ recipients: [{ status: 'delivered', complained: false }] });
  });
  test('does not change the status of the recipient', () => {
    given([...sent, delivered('rcp_1', 3)])
      .when(reporting(complaint('rcp_1')))
      .thenState({ recipients: [{ status: 'delivered', complained: true }] });
  });
});
