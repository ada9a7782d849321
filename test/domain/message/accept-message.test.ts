import { describe, expect, test } from 'vitest';
import type { Analysis } from '../../../src/domain/analysis/analysis.ts';
import { DomainError } from '../../../src/domain/kernel/errors.ts';
import { type AcceptMessage, acceptMessage } from '../../../src/domain/message/accept-message.ts';
import { message } from '../../../src/domain/message/message.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { NOW, specify } from '../../support/specification.ts';

const SCHEDULED_AT = '2026-11-22T12:00:00.000Z';
const TWO = [recipient('rcp_1'), recipient('rcp_2')];

const request = (bodyDigest = 'digest', more: Partial<AcceptMessage> = {}): AcceptMessage => ({
  accepted: messageAccepted({ bodyDigest }).data,
  now: NOW,
  scheduledAt: null,
  sendable: true,
  refusal: null,
  blocking: null,
  ...more,
});

const finding = (severity: 'error' | 'warning', field: string): Analysis['findings'][number] => ({
  rule: 'template-marker',
  severity,
  field,
  message: `Something is in ${field}.`,
  fix: 'Take it out.',
});
const failing: AcceptMessage['blocking'] = {
  verdict: 'fail',
  findings: [
    finding('error', 'subject'),
    { ...finding('error', 'html'), line: 1, column: 4 },
    { ...finding('error', 'html'), line: 2, column: 4 },
    finding('error', 'attachments[1]'),
    finding('warning', 'text'),
  ],
};

describe('accepting a message', () => {
  const { given } = specify(message);

  test('records it once', () => {
    given([])
      .when((state) => acceptMessage(state, request()))
      .thenEvents(messageAccepted());
  });
  test('again with the same request body changes nothing', () => {
    given([messageAccepted({ bodyDigest: 'same' })])
      .when((state) => acceptMessage(state, request('same')))
      .thenNothing();
  });
  test('again with another request body is refused', () => {
    given([messageAccepted({ bodyDigest: 'one' })])
      .when((state) => acceptMessage(state, request('other')))
      .thenRefused('idempotency_key_reused');
  });

  test('for later schedules every recipient at once, numbered after the acceptance', () => {
    const { data } = messageAccepted({ recipients: TWO });
    const { messageId, contentId, expiresAt } = data;
    given([])
      .when((state) => acceptMessage(state, request(undefined, { accepted: data, scheduledAt: SCHEDULED_AT })))
      .thenEvents(messageAccepted({ recipients: TWO }), {
        type: 'MessageScheduled',
        data: {
          messageId,
          contentId,
          expiresAt,
          sequence: 3,
          scheduledAt: SCHEDULED_AT,
          recipientIds: ['rcp_1', 'rcp_2'],
        },
      });
    given([])
      .when((state) => acceptMessage(state, request(undefined, { accepted: data, scheduledAt: SCHEDULED_AT })))
      .thenState({ schedule: { first: SCHEDULED_AT, current: SCHEDULED_AT }, nextSequence: 5 });
  });

  test.each([
    ['now', NOW],
    ['a year ago', '2025-11-21T12:00:00.000Z'],
    ['30 days and a millisecond ahead', '2026-12-21T12:00:00.001Z'],
  ])('for %s is refused', (_when, scheduledAt) => {
    given([])
      .when((state) => acceptMessage(state, request(undefined, { scheduledAt })))
      .thenRefused('schedule_not_possible');
  });
  test('for 30 days ahead to the millisecond is possible', () => {
    given([])
      .when((state) => acceptMessage(state, request(undefined, { scheduledAt: '2026-12-21T12:00:00.000Z' })))
      .thenState({ schedule: { first: '2026-12-21T12:00:00.000Z' } });
  });

  test('from a domain that may not send is refused', () => {
    given([])
      .when((state) => acceptMessage(state, request(undefined, { sendable: false })))
      .thenRefused('domain_not_verified');
  });

  test('whose analysis fails is refused if its sender wants that, with what to correct', () => {
    const decide = (): unknown => acceptMessage(message.initial, request(undefined, { blocking: failing }));
    expect(decide).toThrow(DomainError);
    expect(decide).toThrow(
      expect.objectContaining({
        code: 'analysis_failed',
        details: {
          subject: ['subject: Something is in subject. Take it out.'],
          html: [
            'html: line 1, column 4: Something is in html. Take it out.',
            'html: line 2, column 4: Something is in html. Take it out.',
          ],
          attachments: ['attachments[1]: Something is in attachments[1]. Take it out.'],
        },
      }),
    );
  });
  test('whose analysis only warns is not refused', () => {
    given([])
      .when((state) => acceptMessage(state, request(undefined, { blocking: { verdict: 'warn', findings: [] } })))
      .thenEvents(messageAccepted());
  });

  test('again has the same result, whatever has become impossible since', () => {
    given([messageAccepted({ bodyDigest: 'same' })])
      .when((state) => acceptMessage(state, request('same', { sendable: false, scheduledAt: NOW, blocking: failing })))
      .thenNothing();
  });
});
