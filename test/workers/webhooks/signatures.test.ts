import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/commands/execute.ts';
import { rotateWebhookSecret } from '../../../src/commands/webhook.ts';
import { until } from '../delivering.ts';
import { receiver, service } from './opened.ts';
import type { ReceivedPost } from './receiver.ts';

const environment = 'test';

/** A service with a webhook, and the posts that it receives. */
const open = async () => {
  const outbox = await service();
  const endpoint = await receiver();
  outbox.workers().start();
  const { secret, webhook } = await outbox.webhook(endpoint.url, ['message.accepted'], environment);
  const { organizationId } = outbox;
  const origin: Origin = {
    ...{ actor: 'operator', organizationId, environment, requestId: null, correlationId: 'test', causationId: 'test' },
  };
  return {
    secret,
    outbox,
    /** @returns the new secret. */
    rotate: async (gracePeriodMinutes: number): Promise<string> => {
      const rotation = { webhookId: webhook.webhookId, environment, gracePeriodMinutes } as const;
      return (await rotateWebhookSecret(outbox.context, origin, rotation)).secret;
    },
    /** @returns the post about a new message. */
    posted: async (): Promise<ReceivedPost> => {
      const id = await outbox.send('ann@example.org', environment);
      await until(() => expect(endpoint.posts.at(-1)?.json.data.message_id).toBe(id));
      return endpoint.posts.at(-1) as ReceivedPost;
    },
  };
};

const signaturesOf = ({ headers }: ReceivedPost): readonly string[] => String(headers['webhook-signature']).split(' ');

describe.each([
  ['standardwebhooks', StandardWebhook],
  ['svix', SvixWebhook],
])('a receiver that verifies with %s', (_, Verifier) => {
  const verify = (secret: string, { body, headers }: Pick<ReceivedPost, 'body' | 'headers'>): void => {
    new Verifier(secret).verify(body, headers as Record<string, string>);
  };

  test('accepts what is posted, and rejects another body, id, time or secret', async () => {
    const { secret, posted } = await open();
    const post = await posted();
    verify(secret, post);
    const { headers, body } = post;
    const seconds = Number(headers['webhook-timestamp']);
    expect(() => verify(secret, { headers, body: body.replace('ann@', 'eve@') })).toThrow('No matching signature');
    for (const changed of [{ 'webhook-id': 'evt_another' }, { 'webhook-timestamp': String(seconds + 1) }]) {
      expect(() => verify(secret, { headers: { ...headers, ...changed }, body })).toThrow('No matching signature');
    }
    const another = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    expect(() => verify(another, post)).toThrow('No matching signature');
  });

  test('rejects a post that was signed more than five minutes ago', async () => {
    const { secret, outbox, posted } = await open();
    outbox.system.shift(-301_000);
    const post = await posted();
    expect(() => verify(secret, post)).toThrow('Message timestamp too old');
  });

  test('accepts either secret while it is rotated, and needs the new one afterwards', async () => {
    const { secret: first, outbox, rotate, posted } = await open();
    const second = await rotate(60);
    const meanwhile = await posted();
    expect(signaturesOf(meanwhile)).toHaveLength(2);
    for (const secret of [first, second]) verify(secret, meanwhile);
    // Two minutes, because verifiers reject timestamps more than five minutes ahead.
    const third = await rotate(2);
    outbox.system.shift(120_000);
    const later = await posted();
    expect(signaturesOf(later)).toHaveLength(2);
    expect(() => verify(second, later)).toThrow('No matching signature');
    for (const secret of [first, third]) verify(secret, later);
  });
});
