import { Resend } from 'resend';
import { Webhook } from 'svix';
import { expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/execute.ts';
import { pingWebhook, registerWebhook } from '../../../src/commands/webhook.ts';
import { RESEND_EVENTS } from '../../../src/domain/webhook/resend.ts';
import { until } from '../delivering.ts';
import { receiver, service } from './opened.ts';
import type { ReceivedPost } from './receiver.ts';

const environment = 'test';

/** Values of the headers that receivers read. */
const svixOf = ({ headers }: ReceivedPost) => ({
  id: String(headers['svix-id']),
  timestamp: String(headers['svix-timestamp']),
  signature: String(headers['svix-signature']),
});

test('a webhook in the format of Resend posts what its client and Svix verify', async () => {
  const outbox = await service();
  const endpoint = await receiver();
  outbox.workers().start();
  const { organizationId, context } = outbox;
  const origin: Origin = {
    ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
  };
  const { secret, webhook } = await registerWebhook(context, origin, {
    ...{ url: endpoint.url, events: [...RESEND_EVENTS], environment, description: null, format: 'resend' },
  });
  const id = await outbox.send('ann@example.org', environment);
  const posted = (): ReceivedPost | undefined => endpoint.posts.find(({ body }) => body.includes(id));
  await until(() => expect(posted()).toBeDefined());
  const post = posted() as ReceivedPost;

  const { verify } = new Resend('re_1').webhooks;
  const theirs = { payload: post.body, headers: svixOf(post), webhookSecret: secret };
  expect(verify(theirs)).toEqual({
    type: expect.stringMatching(/^email\.(?:sent|delivered)$/),
    created_at: expect.any(String),
    data: expect.objectContaining({ email_id: id, to: ['ann@example.org'], from: expect.stringContaining('@') }),
  });
  const headers = Object.fromEntries(Object.entries(svixOf(post)).map(([name, value]) => [`svix-${name}`, value]));
  expect(() => new Webhook(secret).verify(post.body, headers)).not.toThrow();
  expect(() => verify({ ...theirs, payload: post.body.replace('ann@', 'eve@') })).toThrow();
  expect(post.headers['webhook-id']).toBe(post.headers['svix-id']);

  await pingWebhook(context, origin, { webhookId: webhook.webhookId, environment });
  await until(() => expect(endpoint.posts.some(({ body }) => body.includes('"type":"webhook.ping"'))).toBe(true));
});
