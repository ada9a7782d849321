import { expect, onTestFinished, test } from 'vitest';
import { type AnyBody, apiClient, eventually } from '../support/api-client.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const MAIL = {
  raw: 'From: Ann <ann@example.net>\r\nSubject: Order 42\r\n\r\nWhere is it?\r\n',
  to: 'support@example.test',
  from: 'ann@example.net',
};

test('a test message is posted to the webhook of its route, and again when its delivery is resent', async () => {
  const receiver = await startWebhookReceiver();
  onTestFinished(receiver.close);
  const program = await programForTest(await placeForTest());
  const api = apiClient(program.baseUrl, program.keys.live);
  const { body: webhook } = await api.post('/v1/webhooks', { url: receiver.url, events: ['message.*'] });
  const { body: domains } = await api.get('/v1/domains');
  const route = { domain_id: domains.data[0].id, match: 'support', action: 'webhook', webhook_id: webhook.id };
  expect((await api.post('/v1/inbound-routes', route)).status).toBe(201);
  const { status, body: received } = await api.post('/v1/inbound/test', MAIL);
  expect(status).toBe(201);
  const posts = (count: number): Promise<readonly AnyBody[]> =>
    eventually(
      async () => receiver.posts.map(({ body }) => JSON.parse(body)),
      ({ length }) => length >= count,
    );
  const [first] = await posts(1);
  expect(first).toMatchObject({
    type: 'inbound.received',
    data: { inbound_id: received.id, subject: 'Order 42', envelope: { from: MAIL.from, to: MAIL.to } },
  });
  const { body: deliveries } = await eventually(
    () => api.get(`/v1/webhooks/${webhook.id}/deliveries`),
    ({ body }) => body.data[0]?.status === 'delivered',
  );
  const [{ id }] = deliveries.data;
  expect((await api.get(`/v1/inbound/${received.id}/deliveries`)).body.data).toMatchObject(deliveries.data);
  expect((await api.post(`/v1/webhooks/${webhook.id}/deliveries/${id}/resend`, {})).status).toBe(202);
  const [, second] = await posts(2);
  expect(second).toEqual(first);
});
