import { describe, expect, test } from 'vitest';
import { customerEvents } from '../../../../src/domain/customer-events/customer-events.ts';
import type { WebhookDelivery, WebhookTry } from '../../../../src/domain/ports/webhooks.ts';
import { messageAccepted } from '../../../support/controls/message.ts';
import { NOW } from '../../../support/specification.ts';
import { explain, minute, recorded } from './explaining.ts';

const happenings = recorded([{ event: messageAccepted() }]);
const [event] = happenings.flatMap(customerEvents);
if (event === undefined) throw new Error('an acceptance is an event of its customer');

const tried = (status: number | null, at: number): WebhookTry => ({
  at: new Date(minute(at)),
  request: { url: 'https://example.com/hook', headerNames: [], bodyBytes: 2, bodySha256: 'ab'.repeat(32) },
  status,
  durationMs: 12.4,
  text: 'what it answered',
});
const delivery = (more: Partial<WebhookDelivery>): WebhookDelivery => ({
  id: 'dlv_1',
  webhookId: 'whk_1',
  event,
  state: 'pending',
  dueAt: new Date(minute(10)),
  createdAt: new Date(NOW),
  tries: [],
  ...more,
});
const told = (more: Partial<WebhookDelivery>, disabled: readonly string[] = []) =>
  explain(happenings, { deliveries: [delivery(more)], disabledWebhooks: new Set(disabled) }).steps.slice(5);

const TOLD = 'Posted message.accepted for ada@example.net to endpoint whk_1';

describe('a webhook in an explanation', () => {
  test('is shown before its first try, with the time of that', () => {
    const [step] = told({});
    expect(step).toMatchObject({
      type: 'webhook_owed',
      at: NOW,
      recipient: { id: 'rcp_1', address: 'ada@example.net' },
      sentence:
        'Waiting to post message.accepted for ada@example.net to endpoint whk_1. Next attempt at 2026-11-21 12:10:00 UTC.',
      facts: { webhook_id: 'whk_1', event_id: event.id, event_type: 'message.accepted', next_attempt_at: minute(10) },
    });
  });

  test('has a step for each try, and the last says what comes next', () => {
    const steps = told({ tries: [tried(null, 1), tried(503, 2)] });
    expect(steps.map(({ sentence }) => sentence)).toEqual([
      `${TOLD}: no response after 12 ms (GET /v1/webhooks/whk_1/deliveries says why).`,
      `${TOLD}: response 503 after 12 ms. Next attempt at 2026-11-21 12:10:00 UTC.`,
    ]);
    expect(steps.map(({ facts }) => [facts.attempt, facts.status, facts.duration_ms, facts.next_attempt_at])).toEqual([
      [1, null, 12, undefined],
      [2, 503, 12, minute(10)],
    ]);
  });

  test.each([
    ['delivered', [], ''],
    ['failed', [], 'It is not retried. You can replay it.'],
    ['pending', ['whk_1'], 'It waits until the endpoint is enabled again.'],
  ] as const)('that is %s (disabled: %j) says so', (state, disabled, sentence) => {
    const dueAt = state === 'pending' ? new Date(minute(10)) : null;
    const [step] = told({ state, dueAt, tries: [tried(200, 1)] }, disabled);
    expect(step?.sentence).toBe(`${TOLD}: response 200 after 12 ms. ${sentence}`.trimEnd());
  });

  test('shows nothing of its responses', () => {
    expect(JSON.stringify(told({ tries: [tried(200, 1)] }))).not.toContain('what it answered');
  });

  test('is placed between the events by its time, and the newest tries are shown', () => {
    const tries = Array.from({ length: 11 }, (_, index) => tried(500, index));
    const deliveries = Array.from({ length: 30 }, () => delivery({ tries }));
    const { steps, left_out } = explain(happenings, { deliveries });
    expect(steps).toHaveLength(5 + 200);
    const times = steps.map(({ at }) => at);
    expect(times).toEqual(times.toSorted());
    expect(left_out).toBe('Earlier webhook attempts are omitted: GET /v1/webhooks/{id}/deliveries lists them.');
  });
});
