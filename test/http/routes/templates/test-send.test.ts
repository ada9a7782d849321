import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../../support/database-service.ts';
import { openTemplates, type Templates } from '../../support/templates.ts';

let service: DatabaseService;
let key: string;
let templates: Templates;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  key = (await service.makeKey(organizationId, await service.makeDomain(organizationId, 'example.test'))).value;
  templates = openTemplates(service, key);
});
afterAll(() => service.close());

describe('a test send', () => {
  const messageOf = async (id: string, part = '') =>
    (await service.request({ url: `/v1/messages/${id}${part}`, key })).json();

  test('sends the draft, marked in its subject, billed but not in statistics', async () => {
    const alias = await templates.makePublished();
    await templates.ask('PATCH', `/${alias}`, { subject: 'Draft for {{ name }}' });
    const sent = await templates.ask('POST', `/${alias}/test-send`, { to: 'me@example.net' });
    expect(sent.status).toBe(202);
    expect(await messageOf(sent.body.id, '/content')).toMatchObject({
      subject: '[Test] Draft for Ann',
      from: 'test@example.test',
    });
    const first = await templates.ask('POST', `/${alias}/test-send`, {
      to: 'me@example.net',
      version: 1,
      variables: { name: 'Bob' },
    });
    expect(await messageOf(first.body.id, '/content')).toMatchObject({ subject: '[Test] Hello Bob' });
    const usage = await service.request({ url: '/v1/billing/usage', key });
    expect(usage.json().billable_recipients).toBe(2);
    const stats = await service.request({ url: '/v1/stats', key });
    expect(stats.json().totals.accepted).toBe(0);
    expect((await templates.ask('POST', `/${alias}/test-send`, { to: 'x' })).status).toBe(400);
  });
});
