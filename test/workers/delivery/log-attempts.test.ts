import { expect, test } from 'vitest';
import { openDelivering as open, statuses, until } from '../delivering.ts';

test('a delivery logs a line for each outcome of an attempt, by recipient domain and without addresses', async () => {
  const service = await open({
    onRcpt: (to) => (to.startsWith('no') ? { code: 550, text: '5.1.1 no such user' } : null),
  });
  service.workers().start();
  const id = await service.send(['ann@example.org', 'bob@example.org', 'nobody@example.org']);
  await until(async () => expect(await statuses(service, id)).toEqual(['delivered', 'delivered', 'bounced']));
  const lines = service.logger.fieldsOf('info').filter((fields) => 'outcome' in fields);
  const common = { messageId: id, environment: 'live', attempt: 1, recipientDomain: 'example.org' };
  expect(lines).toMatchObject([
    { ...common, recipientCount: 2, outcome: 'delivered', code: 250, tookMs: expect.any(Number) },
    { ...common, recipientCount: 1, outcome: 'bounced', code: 550, enhanced: '5.1.1' },
  ]);
  expect(JSON.stringify(lines)).not.toContain('@');
});
