import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { signWebhook } from '../../../src/domain/webhook/sign-webhook.ts';

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
