import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { LISTENER } from '../support/walk-bodies.ts';

let service: DatabaseService;
let key: string;
let testKey: string;
let otherKey: string;
let domainId: string;
let otherDomainId: string;

beforeAll(async () => {
  service = await startDatabaseService();
  const organizationId = await service.makeOrganization();
  domainId = await service.makeDomain(organizationId, 'example.test');
  key = (await service.makeKey(organizationId, domainId)).value;
  testKey = (await service.makeKey(organizationId, domainId, { environment: 'test' })).value;
  const other = await service.makeOrganization();
  otherDomainId = await service.makeDomain(other, 'other.test');
  otherKey = (await service.makeKey(other, otherDomainId)).value;
});
afterAll(() => service.close());

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
const ask = async (method: Method, url: string, payload?: object, by = key) => {
  const answer = await service.request({ method, url, key: by, ...(payload === undefined ? {} : { payload }) });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json(), headers: answer.headers };
};
const LIST = '/v1/inbound-routes';
const create = (fields: object = {}, by = key) =>
  ask('POST', LIST, { domain_id: domainId, match: 'sales', action: 'store', ...fields }, by);
const makeWebhook = async (by = key): Promise<string> =>
  (await ask('POST', '/v1/webhooks', { url: LISTENER, events: ['domain.*'] }, by)).body.id;

describe('an inbound route', () => {
  test('is created, read, listed, changed and deleted', async () => {
    const created = await create({ match: 'Support+*', action: 'webhook' });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      ...{ object: 'inbound_route', domain_id: domainId, match: 'Support+*', action: 'webhook' },
      ...{ webhook_id: null, order: 0 },
    });
    const url = `${LIST}/${created.body.id}`;
    expect((await ask('GET', url)).body).toEqual(created.body);
    expect((await ask('GET', LIST)).body.data).toContainEqual(created.body);
    const changed = await ask('PATCH', url, { order: 5 });
    expect(changed.body).toEqual({ ...created.body, order: 5 });
    expect((await ask('PATCH', url, {})).headers.etag).toBe(changed.headers.etag);
    expect((await ask('DELETE', url)).status).toBe(204);
    for (const method of ['GET', 'DELETE'] as const) expect((await ask(method, url)).status).toBe(404);
    const listed = (await ask('GET', LIST)).body.data;
    expect(listed).not.toContainEqual(expect.objectContaining({ id: created.body.id }));
    const feed = (await ask('GET', '/v1/events?types=inbound_route.*')).body.data;
    const types = feed.flatMap(({ type, data }: { type: string; data: { inbound_route_id: string } }) =>
      data.inbound_route_id === created.body.id ? [type] : [],
    );
    expect(types).toEqual(['inbound_route.created', 'inbound_route.updated', 'inbound_route.deleted']);
  });

  test('names a webhook until its action posts nothing', async () => {
    const webhookId = await makeWebhook();
    const { body } = await create({ action: 'webhook', webhook_id: webhookId });
    expect(body.webhook_id).toBe(webhookId);
    const changed = await ask('PATCH', `${LIST}/${body.id}`, { action: 'store' });
    expect(changed.body).toMatchObject({ action: 'store', webhook_id: null });
    const refused = await ask('PATCH', `${LIST}/${body.id}`, { webhook_id: webhookId });
    expect([refused.status, refused.body.error.details]).toEqual([
      400,
      { webhook_id: ['webhook_id is allowed only with action webhook'] },
    ]);
  });

  test('is listed by domain', async () => {
    const { body } = await create();
    expect((await ask('GET', `${LIST}?domain_id=${domainId}`)).body.data).toContainEqual(body);
    expect((await ask('GET', `${LIST}?domain_id=${otherDomainId}`)).status).toBe(403);
    expect((await ask('GET', `${LIST}?domain_id=x`)).status).toBe(400);
  });

  test.each([
    [{ match: '' }, 'match'],
    [{ match: 'a*b*' }, 'match must contain at most one *'],
    [{ match: 'a@example.test' }, 'match must be the part of an address before the @'],
    [{ match: 'a\r\nb' }, 'match must be the part of an address before the @'],
    [{ match: 'a\0b' }, 'match must be the part of an address before the @'],
    [{ match: 'x\u202ey' }, 'match must be the part of an address before the @'],
    [{ match: 'x'.repeat(65) }, 'match must have at most 64 characters'],
    [{ match: ['*'] }, 'match'],
    [{ action: 'relay' }, 'action must be one of webhook, store, forward, refuse'],
    [{ order: -1 }, 'order'],
    [{ order: 1.5 }, 'order'],
    [{ order: '1' }, 'order'],
    [{ colour: 'red' }, 'colour'],
  ])('with %j is refused', async (fields, problem) => {
    const { status, body } = await create(fields);
    expect([status, JSON.stringify(body.error.details)]).toEqual([400, expect.stringContaining(problem)]);
  });

  test('names no webhook with the format of another service', async () => {
    const hook = { url: LISTENER, events: ['message.delivered'], format: 'sendgrid' };
    const { body } = await ask('POST', '/v1/webhooks', hook);
    const refused = await create({ action: 'webhook', webhook_id: body.id });
    expect([refused.status, refused.body.error.details.webhook_id[0]]).toEqual([
      400,
      expect.stringContaining('must be a webhook with the format outbox'),
    ]);
  });

  test('names a webhook with the format of received mail', async () => {
    const hook = { url: LISTENER, events: ['inbound.received'], format: 'postmark_inbound' };
    const { body } = await ask('POST', '/v1/webhooks', hook);
    expect(body).toMatchObject({ format: 'postmark_inbound', verification_key: null });
    expect((await create({ action: 'webhook', webhook_id: body.id })).status).toBe(201);
  });

  test('concerns only what belongs to the caller', async () => {
    const { body } = await create();
    const foreignHook = await makeWebhook(otherKey);
    const testHook = await makeWebhook(testKey);
    for (const method of ['GET', 'DELETE'] as const)
      expect((await ask(method, `${LIST}/${body.id}`, undefined, otherKey)).status).toBe(403);
    expect((await ask('PATCH', `${LIST}/${body.id}`, { order: 1 }, otherKey)).status).toBe(403);
    expect((await create({ domain_id: otherDomainId })).status).toBe(403);
    expect((await create({ domain_id: 'dom_aaaaaaaaaaaaaaaaaaaaaaaaaa' })).status).toBe(404);
    for (const [webhook_id, status] of [
      [foreignHook, 403],
      [testHook, 404],
      ['whk_aaaaaaaaaaaaaaaaaaaaaaaaaa', 404],
      ['a\r\nb\0', 404],
    ] as const)
      expect([webhook_id, (await create({ action: 'webhook', webhook_id })).status]).toEqual([webhook_id, status]);
    expect((await create({}, testKey)).status).toBe(403);
    expect((await ask('GET', `${LIST}/${body.id}`, undefined, testKey)).status).toBe(200);
  });
});
