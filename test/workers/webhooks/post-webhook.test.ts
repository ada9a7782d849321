import { describe, expect, test } from 'vitest';
import type { CustomerEvent } from '../../../src/domain/customer-events/customer-events.ts';
import type { ClaimedDelivery, WebhookAnswer, WebhookPost } from '../../../src/domain/ports/webhooks.ts';
import { postWebhook, startWithinMs, WEBHOOK_TIMES } from '../../../src/workers/webhooks/post-once.ts';
import { createSteppableSystem } from '../../support/system.ts';

const BODY = '{"name":"Jürgen"}';
/** Number of tries of a delivery. */
const TRIES_MAX = 11;

/** Posts once, and gets this answer. */
const post = async (
  answer: Partial<WebhookAnswer>,
  delivery: Partial<ClaimedDelivery> = {},
  headers: Readonly<Record<string, string>> = {},
) => {
  const system = createSteppableSystem();
  const sent: WebhookPost[] = [];
  const tried = await postWebhook(
    {
      ...{ webhookTimes: WEBHOOK_TIMES, system },
      webhookTarget: {
        problemWith: async () => null,
        close: async () => undefined,
        post: async (one) => {
          sent.push(one);
          await system.advance(1_000);
          return { status: 200, durationMs: 1_000, text: 'thanks', retryAfterSeconds: null, ...answer };
        },
      },
    },
    {
      delivery: {
        ...{ id: 'dlv_1', webhookId: 'whk_1', attempts: 0 },
        event: { id: 'evt_1', organizationId: 'org_1' } as CustomerEvent,
        ...delivery,
      },
      ...{ url: 'https://a.test/hook', secrets: ['whsec_AAAA'], headers, body: { content: BODY } },
    },
  );
  return { tried, sent: sent[0], answeredAt: system.now() };
};

describe('a post', () => {
  test.each([199, 200, 204, 299, 300, 302, 404, 500, null])('that is answered %s', async (status) => {
    const { tried } = await post({ status });
    expect(tried).toMatchObject({
      status,
      state: status !== null && /^2\d\d$/.test(`${status}`) ? 'delivered' : 'pending',
    });
  });

  test('that fails is due again after its wait since the answer, and after the last try no more', async () => {
    const first = await post({ status: 500 });
    expect(first.tried.attempt).toBe(1);
    const waitMs = first.tried.dueAt.getTime() - first.answeredAt.getTime();
    expect([waitMs >= 4_500, waitMs <= 5_500]).toEqual([true, true]);
    const last = await post({ status: 500 }, { attempts: TRIES_MAX - 1 });
    expect(last.tried).toMatchObject({ attempt: TRIES_MAX, state: 'failed' });
    const before = await post({ status: 500 }, { attempts: TRIES_MAX - 2 });
    expect(before.tried).toMatchObject({ attempt: TRIES_MAX - 1, state: 'pending' });
  });

  test('that is answered 410 is never repeated', async () => {
    expect((await post({ status: 410, retryAfterSeconds: 10 })).tried).toMatchObject({ attempt: 1, state: 'failed' });
  });

  test('waits as long as the receiver asks for', async () => {
    const { tried, answeredAt } = await post({ status: 503, retryAfterSeconds: 3_600 });
    expect(tried.dueAt.getTime() - answeredAt.getTime()).toBe(3_600_000);
  });

  test('is recorded with its size in bytes, and the names of the own headers alone', async () => {
    const { tried, sent } = await post({}, {}, { authorization: 'Bearer s3cret', 'user-agent': 'own' });
    expect(tried.request).toMatchObject({
      ...{ url: 'https://a.test/hook', headerNames: ['authorization', 'user-agent'], bodyBytes: 18 },
    });
    expect(JSON.stringify(tried)).not.toContain('s3cret');
    expect(sent).toMatchObject({ organizationId: 'org_1', body: BODY, timeoutMs: WEBHOOK_TIMES.postMs });
    expect(sent?.headers).toMatchObject({ authorization: 'Bearer s3cret', 'webhook-id': 'evt_1' });
    expect(sent?.headers['user-agent']).toMatch(/^Outbox-Webhooks/);
  });

  test('names the replay that it belongs to, if any', async () => {
    expect((await post({}, { replayId: 'rpl_1' })).sent?.headers['webhook-replay']).toBe('rpl_1');
    expect((await post({})).sent?.headers).not.toHaveProperty('webhook-replay');
  });
});

test('a post starts only as long after its claim as leaves time for its answer and its record', () => {
  expect(startWithinMs({ leaseMs: 100, postMs: 30, recordMs: 20 })).toBe(50);
});
