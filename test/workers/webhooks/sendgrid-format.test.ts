import { createPublicKey, verify as verifyBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/execute.ts';
import { pingWebhook, registerWebhook, rotateWebhookSecret } from '../../../src/commands/webhook.ts';
import { SENDGRID_EVENTS, verificationKeyOf } from '../../../src/domain/webhook/sendgrid.ts';
import { until } from '../delivering.ts';
import { receiver, service } from './opened.ts';
import type { ReceivedPost } from './receiver.ts';

const environment = 'test';

/** A service with a webhook in the format of SendGrid, and the posts that it receives. */
const open = async () => {
  const outbox = await service();
  const endpoint = await receiver();
  outbox.workers().start();
  const { organizationId, context } = outbox;
  const origin: Origin = {
    ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
  };
  const { secret, webhook } = await registerWebhook(context, origin, {
    ...{ url: endpoint.url, events: [...SENDGRID_EVENTS], environment, description: null, format: 'sendgrid' },
  });
  const { webhookId } = webhook;
  return {
    ...{ secret, outbox, endpoint },
    rotate: async (): Promise<string> =>
      (await rotateWebhookSecret(context, origin, { webhookId, environment, gracePeriodMinutes: 60 })).secret,
    ping: () => pingWebhook(context, origin, { webhookId, environment }),
    /** @returns the post about a new message. */
    posted: async (): Promise<ReceivedPost> => {
      const id = await outbox.send('ann@example.org', environment);
      const of = (): ReceivedPost | undefined => endpoint.posts.find(({ body }) => body.includes(id));
      await until(() => expect(of()).toBeDefined());
      return of() as ReceivedPost;
    },
  };
};

test('the key follows from the secret, and stays what it was', () => {
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  expect(verificationKeyOf(secret)).toBe(
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEkZPIVjHb96EaBKJG2YQg02gEhxEY17oYePY/7tLSfuRnl04LkwSwAMJhhnKCLMgSxxVu5wYK4BcFQhgVMhYW0A==',
  );
});

type Post = Pick<ReceivedPost, 'body' | 'headers'>;
type Verify = (key: string, post: Post) => boolean;

const signed = ({ headers }: Post): readonly [timestamp: string, signature: string] => [
  String(headers['x-twilio-email-event-webhook-timestamp']),
  String(headers['x-twilio-email-event-webhook-signature']),
];

const byNode: Verify = (key, post) => {
  const [timestamp, signature] = signed(post);
  const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' });
  return verifyBytes('sha256', Buffer.from(timestamp + post.body), publicKey, Buffer.from(signature, 'base64'));
};

interface Published {
  readonly EventWebhook: new () => {
    convertPublicKeyToECDSA(key: string): unknown;
    verifySignature(key: unknown, payload: string, signature: string, timestamp: string): boolean;
  };
}

const require = createRequire(import.meta.url);

/** The published package; null: it is not installed. */
const published = (() => {
  try {
    return require('@sendgrid/eventwebhook') as Published;
  } catch {
    return null;
  }
})();

const byPackage: Verify = (key, post) => {
  const [timestamp, signature] = signed(post);
  const webhook = new (published as Published).EventWebhook();
  return webhook.verifySignature(webhook.convertPublicKeyToECDSA(key), post.body, signature, timestamp);
};

describe.each([
  ['node:crypto', byNode, true],
  ['@sendgrid/eventwebhook', byPackage, published !== null],
] as const)('a receiver that verifies with %s', (_, verify, isInstalled) => {
  test.skipIf(!isInstalled)('accepts what is posted, and rejects another body, time or key', async () => {
    const { secret, posted, rotate } = await open();
    const post = await posted();
    const key = verificationKeyOf(secret);
    expect(verify(key, post)).toBe(true);
    expect(verify(key, { ...post, body: post.body.replace('ann@', 'eve@') })).toBe(false);
    const late = { ...post.headers, 'x-twilio-email-event-webhook-timestamp': '1' };
    expect(verify(key, { ...post, headers: late })).toBe(false);
    // There is room for one signature: the newest secret makes it.
    const next = verificationKeyOf(await rotate());
    const second = await posted();
    expect([verify(next, second), verify(key, second), verify(next, post)]).toEqual([true, false, false]);
  });
});

test('posts an array with one event, which Standard Webhooks sign too, and an empty one for a ping', async () => {
  const { posted, ping, endpoint } = await open();
  const post = await posted();
  expect(post.headers['webhook-signature']).toMatch(/^v1,/);
  expect(post.json).toEqual([
    expect.objectContaining({
      email: 'ann@example.org',
      event: expect.stringMatching(/^(?:processed|delivered)$/),
      sg_event_id: post.headers['webhook-id'],
      sg_message_id: expect.stringMatching(/^msg_/),
      timestamp: expect.any(Number),
    }),
  ]);
  await ping();
  await until(() => expect(endpoint.posts.some(({ body }) => body === '[]')).toBe(true));
});

test('derives one key from one secret, whatever its first byte', () => {
  const secrets = Array.from({ length: 64 }, (_, byte) => `whsec_${Buffer.alloc(32, 4 * byte).toString('base64')}`);
  const keys = secrets.map(verificationKeyOf);
  expect(new Set(keys).size).toBe(secrets.length);
  expect(secrets.map(verificationKeyOf)).toEqual(keys);
  for (const key of keys) expect(key).toMatch(/^MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/);
});
