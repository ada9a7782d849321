import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { createOutbox, type ReceivedWebhook, verifyWebhook, WebhookVerificationError } from '../../sdk/src/index.ts';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const BODY = '{"id":"evt_1","object":"event","type":"webhook.ping","data":{"text":"Grüße 🌍"}}';

const postAt = (secondsAgo: number, secret = SECRET): ReceivedWebhook => {
  const at = new Date(Date.now() - secondsAgo * 1000);
  return {
    body: BODY,
    secret: SECRET,
    headers: {
      'webhook-id': 'evt_1',
      'webhook-timestamp': `${Math.floor(at.getTime() / 1000)}`,
      'webhook-signature': new Webhook(secret).sign('evt_1', at, BODY),
    },
  };
};

describe('a signed post', () => {
  test('can be read as text and as bytes, with any kind of headers', async () => {
    const post = postAt(0);
    const fields = post.headers as Record<string, string>;
    for (const body of [BODY, Buffer.from(BODY), new TextEncoder().encode(BODY).buffer]) {
      expect(await verifyWebhook({ ...post, body })).toEqual(JSON.parse(BODY));
    }
    const capital = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const headers of [new Headers(fields), capital]) {
      expect(await verifyWebhook({ ...post, headers })).toMatchObject({ id: 'evt_1' });
    }
  });

  test('can also be read with a client, and with the headers of another fetch', async () => {
    const { webhooks } = createOutbox({ apiKey: 'ob_test_x', baseUrl: 'https://mail.example' });
    const post = postAt(0);
    const fields = new Map(Object.entries(post.headers as Record<string, string>));
    const headers = { get: (name: string) => fields.get(name) ?? null } as Headers;
    expect(await webhooks.verify({ ...post, headers })).toMatchObject({ id: 'evt_1' });
  });

  test.each([JSON.parse(BODY), undefined, null, 7])(
    'is rejected if its body is neither text nor bytes: %j',
    async (body) => {
      const verifying = verifyWebhook({ ...postAt(0), body });
      await expect(verifying).rejects.toThrow(TypeError);
      await expect(verifying).rejects.toThrow('body must be the raw text or bytes as received');
    },
  );

  test('can be read with either secret while it is rotated', async () => {
    const post = postAt(0, OTHER);
    expect(await verifyWebhook({ ...post, secret: [SECRET, OTHER] })).toMatchObject({ id: 'evt_1' });
    await expect(verifyWebhook(post)).rejects.toThrow(WebhookVerificationError);
    const both = {
      ...(post.headers as object),
      'webhook-signature': `v1,AAAA v2,x v1,!! ${(post.headers as Record<string, string>)['webhook-signature']}`,
    };
    expect(await verifyWebhook({ ...post, headers: both, secret: OTHER })).toMatchObject({ id: 'evt_1' });
  });

  test.each([
    ['another body', { body: BODY.replace('ping', 'pong') }],
    ['a body written anew', { body: JSON.stringify(JSON.parse(BODY), null, 1) }],
    ['another secret', { secret: OTHER }],
    ['no secret', { secret: [] }],
  ])('is rejected with %s', async (_, more) => {
    await expect(verifyWebhook({ ...postAt(0), ...more })).rejects.toThrow('no signature matches');
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('is rejected without %s', async (name) => {
    const post = postAt(0);
    const headers = { ...(post.headers as Record<string, string>), [name]: undefined };
    await expect(verifyWebhook({ ...post, headers })).rejects.toThrow(`the header ${name} is missing`);
  });

  test('is rejected if it is too old or in the future, within the given tolerance', async () => {
    await expect(verifyWebhook(postAt(301))).rejects.toThrow('too old');
    await expect(verifyWebhook(postAt(-302))).rejects.toThrow('future');
    expect(await verifyWebhook({ ...postAt(301), toleranceSeconds: 600 })).toMatchObject({ id: 'evt_1' });
    const headers = { ...(postAt(0).headers as object), 'webhook-timestamp': '1e9' };
    await expect(verifyWebhook({ ...postAt(0), headers })).rejects.toThrow('not a time');
  });

  test('needs a valid secret', async () => {
    await expect(verifyWebhook({ ...postAt(0), secret: 'whsec_' })).rejects.toThrow(TypeError);
    await expect(verifyWebhook({ ...postAt(0), secret: 'not base64!' })).rejects.toThrow(TypeError);
  });

  test('is rejected quickly if its header is huge', async () => {
    const headers = { ...(postAt(0).headers as object), 'webhook-signature': 'v1,AAAA '.repeat(1_000_000) };
    const began = performance.now();
    await expect(verifyWebhook({ ...postAt(0), headers })).rejects.toThrow('no signature');
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
