import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUILT_IN_PLANS, type Plan } from '../../../src/domain/billing/plan.ts';
import { organizationStream } from '../../../src/domain/streams.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';

const terms = (plan: Partial<Plan>): Plan => ({
  ...{ id: 'starter', name: 'Starter', currency: 'EUR', price: 1900, included: 4, overagePer1000: '45.5' },
  ...{ hardLimit: null, ...plan },
});
const PLANS = {
  default: BUILT_IN_PLANS.default,
  offered: [terms({}), terms({ id: 'tiny', name: 'Tiny', price: 0, included: 2, hardLimit: 3 })],
};
const STARTER = {
  ...{ id: 'starter', name: 'Starter', currency: 'EUR', price: 1900, included: 4, overage_per_1000: '45.5' },
  hard_limit: null,
};
const TINY = { ...STARTER, id: 'tiny', name: 'Tiny', price: 0, included: 2, hard_limit: 3 };
const MESSAGE = { from: 'a@example.test', to: 'b@example.org', subject: 'Hello', text: 'Hello' };

let service: DatabaseService;
let organizationId: string;
let key: string;
let keyId: string;

const ask = async (
  method: 'GET' | 'PUT' | 'POST',
  url: string,
  payload?: object,
  more: { key?: string; headers?: object } = {},
) => {
  const headers = { ...more.headers };
  const answer = await service.request({ method, url, key: more.key ?? key, headers, ...(payload && { payload }) });
  return { status: answer.statusCode, body: answer.json(), etag: answer.headers.etag };
};

beforeAll(async () => {
  service = await startDatabaseService({ plans: PLANS });
  organizationId = await service.makeOrganization();
  ({ value: key, id: keyId } = await service.makeKey(
    organizationId,
    await service.makeDomain(organizationId, 'example.test'),
  ));
}, 60_000);
afterAll(() => service.close());

describe('a plan', () => {
  test('is the default one until another is chosen, and is chosen among those that the operator offers', async () => {
    expect((await ask('GET', '/v1/billing')).body).toMatchObject({ plan: { id: 'unlimited', price: 0 }, quota: null });
    const { body } = await ask('GET', '/v1/billing/plans');
    expect(body).toEqual({ object: 'list', data: [STARTER, TINY], has_more: false, next_cursor: null });
    const refused = await ask('PUT', '/v1/billing/plan', { plan: 'gold' });
    expect([refused.status, refused.body.error.code]).toEqual([422, 'plan_not_offered']);
  });

  test('is chosen at a revision, by an event that names who chose it', async () => {
    const before = await ask('GET', '/v1/billing');
    const chosen = await ask('PUT', '/v1/billing/plan', { plan: 'starter' }, { headers: { 'if-match': before.etag } });
    expect([chosen.status, chosen.body]).toEqual([200, STARTER]);
    const again = await ask('PUT', '/v1/billing/plan', { plan: 'starter' });
    expect(again.etag).toBe(chosen.etag);
    const stale = await ask('PUT', '/v1/billing/plan', { plan: 'tiny' }, { headers: { 'if-match': before.etag } });
    expect(stale.status).toBe(412);
    const events = await service.deps.context.store.readStream(organizationStream(organizationId));
    expect(events.at(-1)).toMatchObject({
      type: 'PlanChosen',
      data: { organizationId, plan: terms({}) },
      metadata: { actor: `key:${keyId}`, environment: null },
    });
    expect((await ask('GET', '/v1/billing')).body).toMatchObject({ plan: STARTER });
  });

  test('cannot be changed by a test key or without the permission', async () => {
    const domainId = await service.makeDomain(organizationId, 'second.test');
    const trial = await service.makeKey(organizationId, domainId, { environment: 'test' });
    const manager = await service.makeKey(organizationId, domainId, { permissions: ['manage'] });
    for (const [{ value }, code] of [
      [trial, 'environment_not_allowed'],
      [manager, 'permission_missing'],
    ] as const) {
      const { status, body } = await ask('PUT', '/v1/billing/plan', { plan: 'tiny' }, { key: value });
      expect([status, body.error.code]).toEqual([403, code]);
    }
  });

  test('shows how much of its quota is used', async () => {
    await ask('POST', '/v1/messages/send', { ...MESSAGE, to: ['b@example.org', 'c@example.org'] });
    const { body } = await ask('GET', '/v1/billing');
    expect(body.usage.billable_recipients).toBe(2);
    expect(body.quota).toEqual({ limit: 4, remaining: 2, hard: false });
  });
});
