import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import { organizationStream } from '../../../src/domain/kernel/streams.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

const URL = '/v1/organization';
const MESSAGE = { from: 'a@example.test', to: 'ann@example.net', subject: 'Hello', text: 'Hello' };
/** A message with an error for the analysis: a link to a script. */
const BAD = { ...MESSAGE, text: undefined, html: '<p>Hello <a href="javascript:alert(1)">you</a></p>' };

describe('the settings of an organization', () => {
  let service: DatabaseService;
  let organizationId: string;
  let admin: { id: string; value: string };
  let testKey: string;
  let manager: string;

  beforeAll(async () => {
    service = await startDatabaseService();
    organizationId = await service.makeOrganization();
    const domainId = await service.makeDomain(organizationId, 'example.test');
    admin = await service.makeKey(organizationId, domainId);
    testKey = (await service.makeKey(organizationId, domainId, { environment: 'test' })).value;
    manager = (await service.makeKey(organizationId, domainId, { permissions: ['manage'] })).value;
  });
  afterAll(() => service.close());

  const ask = async (method: 'GET' | 'PATCH' | 'POST', url: string, payload?: object, more: object = {}) => {
    const body = payload === undefined ? {} : { payload };
    const answer = await service.request({ method, url, key: admin.value, ...body, ...more });
    return { status: answer.statusCode, body: answer.json(), etag: answer.headers.etag };
  };
  const patch = (payload: object, more: object = {}) => ask('PATCH', URL, payload, more);

  test('have defaults, change one by one, and stay the same when absent or equal', async () => {
    const first = await ask('GET', URL);
    expect(first.body).toMatchObject({
      contact: null,
      content_retention_days: 30,
      default_analysis: 'off',
      inbound_dmarc: 'mark',
      timezone: 'UTC',
      session_idle_minutes: 720,
      session_hours: 168,
    });
    const changed = await patch({ name: 'Example Shop', contact: 'Mail-Team@Example.TEST', content_retention_days: 0 });
    expect(changed.body).toEqual({
      ...first.body,
      name: 'Example Shop',
      contact: 'Mail-Team@example.test',
      content_retention_days: 0,
    });
    expect(await ask('GET', URL)).toEqual(changed);
    expect(await patch({})).toEqual(changed);
    expect(await patch({ contact: 'Mail-Team@example.test', content_retention_days: 0 })).toEqual(changed);
    expect((await patch({ contact: null }, { headers: { 'if-match': first.etag } })).status).toBe(412);
    const without = await patch({ contact: null }, { headers: { 'if-match': changed.etag } });
    expect([without.status, without.body.contact]).toEqual([200, null]);
  });

  test('include the customer on invoices, which null removes', async () => {
    const details = { name: 'Shop Ltd', address: '1 High Street\nLondon' };
    expect((await patch({ billing_details: details })).body.billing_details).toEqual({ ...details, tax_id: null });
    expect((await patch({ name: 'Shop' })).body.billing_details).toEqual({ ...details, tax_id: null });
    expect((await patch({ billing_details: null })).body.billing_details).toBeNull();
  });

  test('are in the log with who changed them, but without the address', async () => {
    await patch({ contact: 'somebody@example.net' });
    const events = await service.deps.context.store.readStream(organizationStream(organizationId), { from: 0 });
    const last = events.at(-1);
    expect([last?.type, last?.metadata.actor]).toEqual(['OrganizationUpdated', `key:${admin.id}`]);
    const { events: all } = await service.deps.context.store.readAll({ from: LOG_START, limit: 1000 });
    expect(JSON.stringify(all)).not.toContain('somebody@example.net');
  });

  test.each([
    [{ name: '' }, 'name must not be empty'],
    [{ name: 'a\r\nb' }, 'name must not contain line breaks or control characters'],
    [{ contact: 'nobody' }, 'contact is not an email address'],
    [{ contact: 'a@example.net, b@example.net' }, 'contact is not an email address'],
    [{ contact: 'Ann <a@example.net>' }, 'contact is not an email address: it has a display name'],
    [{ contact: 'a@example.net\r\nBcc: b@example.net' }, 'contact is not an email address'],
    [{ contact: ['a@example.net'] }, 'contact'],
    [{ content_retention_days: -1 }, 'content_retention_days'],
    [{ content_retention_days: 366 }, 'content_retention_days'],
    [{ content_retention_days: 1.5 }, 'content_retention_days'],
    [{ session_idle_minutes: 4 }, 'session_idle_minutes'],
    [{ inbound_dmarc: 'bounce' }, 'inbound_dmarc'],
    [{ session_idle_minutes: 721 }, 'session_idle_minutes'],
    [{ session_hours: 0 }, 'session_hours'],
    [{ session_hours: 169 }, 'session_hours'],
    [{ session_hours: '12' }, 'session_hours'],
    [{ billing_details: { name: 'Shop' } }, 'billing_details.address'],
    [{ billing_details: { name: 'Shop\r\nX', address: 'London' } }, 'billing_details.name'],
    [{ billing_details: { name: 'Shop', address: 'London\rX' } }, 'billing_details.address'],
    [{ billing_details: { name: 'Shop', address: 'London\0' } }, 'billing_details.address'],
    [{ billing_details: { name: 'Shop', address: 'x'.repeat(401) } }, 'billing_details.address'],
    [{ billing_details: { name: 'Shop', address: 'London', tax_id: 7 } }, 'billing_details.tax_id'],
    [{ billing_details: { name: 'Shop', address: 'London', iban: 'x' } }, 'billing_details'],
    [{ default_analysis: 'maybe' }, 'default_analysis must be one of off, warn, block'],
    [{ timezone: 'Mars/Olympus' }, 'timezone must be a time zone by its IANA name'],
    [{ rate_limit_ceilings: null }, 'rate_limit_ceilings'],
  ])('are not changed by %j', async (fields, problem) => {
    const { status, body } = await patch(fields);
    expect([status, JSON.stringify(body.error.details)]).toEqual([400, expect.stringContaining(problem)]);
  });

  test('are changed only by live keys with admin permission', async () => {
    const by = async (key: string) => (await patch({ name: 'Taken' }, { key })).status;
    expect([await by(testKey), await by(manager)]).toEqual([403, 403]);
    expect((await ask('GET', URL, undefined, { key: testKey })).status).toBe(200);
  });

  test('decide on the analysis of sends that specify none', async () => {
    const send = async (more: object = {}) => ask('POST', '/v1/messages/send', { ...BAD, ...more });
    expect((await send()).body.analysis).toBeUndefined();
    await patch({ default_analysis: 'warn' });
    expect((await send()).body.analysis).toBeDefined();
    await patch({ default_analysis: 'block' });
    const refused = await send();
    expect([refused.status, refused.body.error.code]).toEqual([422, 'analysis_failed']);
    expect((await send({ analysis: 'off' })).status).toBe(202);
    const batch = await ask('POST', '/v1/messages/batch', { mode: 'partial', messages: [BAD, MESSAGE] });
    expect([batch.body.accepted, batch.body.refused]).toEqual([1, 1]);
    await patch({ default_analysis: 'off' });
  });

  test('decide on the time zone of statistics that specify none', async () => {
    await patch({ timezone: 'Asia/Kathmandu' });
    expect((await ask('GET', '/v1/stats')).body.timezone).toBe('Asia/Kathmandu');
    expect((await ask('GET', '/v1/stats?timezone=UTC')).body.timezone).toBe('UTC');
  });
});
