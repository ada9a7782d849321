import { expect } from 'vitest';
import { type ApiClient, eventually } from './api-client.ts';

/**
 * Follows one message from the request to the inbox and every counter. It must pass with any combination of engines.
 */
export const expectFirstJourney = async (api: ApiClient): Promise<void> => {
  const sent = await api.post('/v1/messages/send', {
    from: 'Shop <shop@example.test>',
    to: ['Ann <ann@example.net>', 'bob@example.org'],
    subject: 'Grüße 🎉',
    html: '<p>Hello</p>',
  });
  expect(sent.status).toBe(202);
  const message = await eventually(
    () => api.get(`/v1/messages/${sent.body.id}`),
    ({ body }) => body.status === 'delivered',
  );
  expect(message.body.recipients.map(({ status }: { status: string }) => status)).toEqual(['delivered', 'delivered']);
  const inbox = await api.get('/v1/inbox');
  expect(inbox.body.data[0]).toMatchObject({
    subject: 'Grüße 🎉',
    envelope: { to: ['ann@example.net', 'bob@example.org'] },
  });
  const stats = await api.get('/v1/stats');
  expect(stats.body.totals).toMatchObject({ accepted: 2, delivered: 2 });
  const events = await api.get(`/v1/messages/${sent.body.id}/events`);
  expect(events.body.data.map(({ sequence }: { sequence: number }) => sequence).sort()).toEqual([1, 2, 3, 4, 5, 6]);
};
