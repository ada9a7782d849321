import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { signWebhook, webhookRetryWaitMs } from '../../../src/domain/webhook/webhook.ts';

const OLD = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const NEW = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const message = { id: 'evt_1', at: new Date(), body: '{"text":"Grüße 🎉"}' };

test('a webhook is signed as the public library signs it', () => {
  expect(signWebhook([NEW], message)['webhook-signature']).toBe(
    new Webhook(NEW).sign(message.id, message.at, message.body),
  );
});

test('a receiver that knows any one of the secrets accepts it', () => {
  const headers = { ...signWebhook([NEW, OLD], message) };
  for (const secret of [OLD, NEW])
    expect(new Webhook(secret).verify(message.body, headers)).toEqual(JSON.parse(message.body));
  expect(() => new Webhook(OLD).verify(message.body, { ...signWebhook([NEW], message) })).toThrow();
});

const SECOND = 1000;
const HOUR = 3600 * SECOND;

test('the waits are those of the API, and end after the last', () => {
  const waits = Array.from({ length: 11 }, (_, index) => webhookRetryWaitMs(index + 1, 0.5, null));
  expect(waits.map((wait) => wait && wait / SECOND)).toEqual([
    ...[5, 60, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
    null,
  ]);
});

test('random spreads a wait by a tenth either way', () => {
  expect(webhookRetryWaitMs(2, 0, null)).toBeCloseTo(54 * SECOND);
  expect(webhookRetryWaitMs(2, 1, null)).toBeCloseTo(66 * SECOND);
});

test('a longer wait that the receiver asked for is honoured, up to a day', () => {
  expect(webhookRetryWaitMs(1, 0.5, 120)).toBe(120 * SECOND);
  expect(webhookRetryWaitMs(2, 0.5, 1)).toBe(60 * SECOND);
  expect(webhookRetryWaitMs(1, 0.5, 9_999_999)).toBe(24 * HOUR);
  expect(webhookRetryWaitMs(11, 0.5, 120)).toBeNull();
});
