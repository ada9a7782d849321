import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { closePeriod } from '../../../src/commands/billing.ts';
import { changePlan } from '../../../src/commands/organization.ts';
import type { Plan } from '../../../src/domain/billing/plan.ts';
import { organizationStream } from '../../../src/domain/kernel/streams.ts';
import { countedDays } from '../../support/counted-days.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { operator } from '../support/service.ts';

const terms = (plan: Partial<Plan>): Plan => ({
  ...{ id: 'starter', name: 'Starter', currency: 'EUR', price: 1900, included: 4, overagePer1000: '45.5' },
  ...{ hardLimit: null, ...plan },
});
const PLANS = {
  default: terms({ id: 'free', name: 'Free', price: 0, included: 0, overagePer1000: '0' }),
  offered: [terms({}), terms({ id: 'tiny', name: 'Tiny', price: 0, included: 2, hardLimit: 3 })],
};
const STARTER = {
  ...{ id: 'starter', name: 'Starter', currency: 'EUR', price: 1900, included: 4, overage_per_1000: '45.5' },
  hard_limit: null,
};
const TINY = { ...STARTER, id: 'tiny', name: 'Tiny', price: 0, included: 2, hard_limit: 3 };
const DAY_MS = 86_400_000;
const today = () => new Date().toISOString().slice(0, 10);
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
});
afterAll(() => service.close());

describe('a plan', () => {
  test('is the default one until another is chosen from those that the operator offers', async () => {
    expect((await ask('GET', '/v1/billing')).body).toMatchObject({
      ...{ plan: { id: 'free', price: 0 }, next_plan: null, quota: { limit: 0, remaining: 0, hard: false } },
    });
    const { body } = await ask('GET', '/v1/billing/plans');
    expect(body).toEqual({ object: 'list', data: [STARTER, TINY], has_more: false, next_cursor: null });
    const refused = await ask('PUT', '/v1/billing/plan', { plan: 'gold' });
    expect([refused.status, refused.body.error.code]).toEqual([422, 'plan_not_offered']);
  });

  test('is chosen at a revision, by an event that names who chose it', async () => {
    const before = await ask('GET', '/v1/billing');
    const chosen = await ask('PUT', '/v1/billing/plan', { plan: 'starter' }, { headers: { 'if-match': before.etag } });
    expect([chosen.status, chosen.body]).toEqual([200, { ...STARTER, applies_from: today() }]);
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

  test('applies from the next day if it lowers anything, and is paid for until then', async () => {
    const own = await service.makeOrganization();
    const by = { key: (await service.makeKey(own, await service.makeDomain(own, 'clever.test'))).value };
    expect((await ask('PUT', '/v1/billing/plan', { plan: 'starter' }, by)).body).toMatchObject(STARTER);
    const chosen = await ask('PUT', '/v1/billing/plan', { plan: 'tiny' }, by);
    const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
    expect([chosen.status, chosen.body]).toEqual([200, { ...TINY, applies_from: tomorrow }]);
    expect((await ask('GET', '/v1/billing', undefined, by)).body).toMatchObject({
      ...{ plan: STARTER, next_plan: { plan: TINY, applies_from: tomorrow } },
    });
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

describe('a hard limit', () => {
  test('refuses what exceeds it, single and in batches, and answers repeats as before', async () => {
    const own = await service.makeOrganization();
    const limited = await service.makeKey(own, await service.makeDomain(own, 'limited.test'));
    const by = { key: limited.value };
    const { context } = service.deps;
    const yesterday = { ...context, system: { ...context.system, now: () => new Date(Date.now() - DAY_MS) } };
    await changePlan(yesterday, operator(own), { planId: 'tiny', plans: PLANS }); // 3 recipients
    expect(await service.server.shared.auth.keyCache.catchUp()).toBe(true); // it knows the plan
    const message = { ...MESSAGE, from: 'a@limited.test' };
    const once = { ...by, headers: { 'idempotency-key': 'once' } };
    const first = await ask('POST', '/v1/messages/send', message, once);
    expect(first.status).toBe(202);
    const two = {
      messages: [message, { ...message, to: ['b@example.org', 'c@example.org', 'd@example.org'] }, message],
    };
    const strict = await ask('POST', '/v1/messages/batch', two, by);
    expect(strict.status).not.toBe(202);
    const partial = await ask('POST', '/v1/messages/batch', { ...two, mode: 'partial' }, by);
    expect(partial.body.data.map(({ status }: { status: number }) => status)).toEqual([
      'accepted',
      'refused',
      'accepted',
    ]);
    const refused = await ask('POST', '/v1/messages/send', message, by);
    expect([refused.status, refused.body.error.code]).toEqual([422, 'quota_exceeded']);
    expect(refused.body.error.details.quota).toEqual(expect.arrayContaining(['plan tiny', 'limit 3', 'used 3']));
    const again = await ask('POST', '/v1/messages/send', message, once);
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect((await ask('GET', '/v1/billing', undefined, by)).body.quota).toEqual({ limit: 3, remaining: 0, hard: true });
  });
});

/** The amount of a line by its own fields alone. */
const recomputed = (line: Record<string, number | string | null>): number => {
  const { price, days, days_of_month: ofDays, chargeable, rate_per_1000: rate, already_charged: charged } = line;
  if (price !== null) return Math.round((Number(price) * Number(days)) / Number(ofDays));
  return Math.round((Number(chargeable) * Number(rate)) / 1000) - Number(charged);
};

describe('a first period', () => {
  test('begins on the day on which the organization was created', async () => {
    const own = await service.makeOrganization();
    const by = { key: (await service.makeKey(own, await service.makeDomain(own, 'first.test'))).value };
    const start = `${today()}T00:00:00.000Z`;
    expect((await ask('GET', '/v1/billing', undefined, by)).body.period.start).toBe(start);
    expect((await ask('GET', '/v1/billing/usage', undefined, by)).body.period.start).toBe(start);
    expect((await ask('GET', '/v1/billing/usage?period=2027-03', undefined, by)).body.period).toEqual({
      ...{ start: '2027-03-01T00:00:00.000Z', end: '2027-04-01T00:00:00.000Z' },
    });
  });
});

describe('an invoice', () => {
  test('is listed and read with what it counts, and only by its own organization', async () => {
    const { context, readModels } = service.deps;
    for (const month of ['2026-09', '2026-10']) {
      const count = async () => ({
        days: countedDays([['2026-10-07', 12]]),
        countedTo: { position: await context.store.head(), at: null },
      });
      await closePeriod(context, { organizationId, month, count });
    }
    const { body } = await ask('GET', '/v1/billing/invoices');
    expect(body.data.map(({ period }: { period: { start: string } }) => period.start)).toEqual([
      '2026-10-01T00:00:00.000Z',
      '2026-09-01T00:00:00.000Z',
    ]);
    const page = await ask('GET', '/v1/billing/invoices?limit=1');
    const rest = await ask('GET', `/v1/billing/invoices?limit=1&after=${page.body.next_cursor}`);
    expect([...page.body.data, ...rest.body.data]).toEqual(body.data);
    expect(rest.body.next_cursor).toBeNull();
    const [invoice] = body.data;
    expect((await ask('GET', `/v1/billing/invoices/${invoice.id}`)).body).toEqual(invoice);
    const recipients = invoice.lines.find(({ kind }: { kind: string }) => kind === 'recipients');
    expect(recipients).toMatchObject({ quantity: 12, from: '2026-10-01', to: '2026-11-01' });
    expect(invoice).toMatchObject({ title: 'Usage statement', issuer: null, customer: null, tax: null });
    for (const line of invoice.lines) expect(recomputed(line)).toBe(line.amount);
    await ask('POST', '/v1/messages/send', MESSAGE); // not on the invoice
    const after = await ask('GET', `/v1/events?types=message.accepted&after=${invoice.counted_to.cursor}`);
    expect(after.body.data).toHaveLength(1);
    const pdf = await service.request({
      method: 'GET',
      url: `/v1/billing/invoices/${invoice.id}`,
      key,
      headers: { accept: 'application/pdf' },
    });
    expect(pdf.headers).toMatchObject({ 'content-type': 'application/pdf', vary: 'accept' });
    expect(pdf.rawPayload.subarray(0, 5).toString()).toBe('%PDF-');
    expect(pdf.rawPayload.subarray(-6).toString()).toBe('%%EOF\n');
    const feed = await ask('GET', '/v1/events?types=billing.*');
    expect(feed.body.data.at(-1)).toMatchObject({
      type: 'billing.invoice_closed',
      environment: 'live',
      data: { invoice_id: invoice.id, period: '2026-10', currency: invoice.currency, total: invoice.total },
    });
    const other = await service.makeOrganization();
    const stranger = await service.makeKey(other, await service.makeDomain(other, 'other.test'));
    const refused = await ask('GET', `/v1/billing/invoices/${invoice.id}`, undefined, { key: stranger.value });
    expect([refused.status, refused.body.error.code]).toEqual([403, 'other_organization']);
    expect((await ask('GET', '/v1/billing/invoices', undefined, { key: stranger.value })).body.data).toEqual([]);
    expect((await readModels.billing.lastInvoices()).get(organizationId)).toBe('2026-10');
    // The log is right, whatever the table says.
    const pool = new Client({ connectionString: service.url });
    await pool.connect();
    onTestFinished(() => pool.end());
    await pool.query(`update read_models.billing_invoices set invoice = '{}', invoice_id = 'inv_' || month`);
    await pool.query(
      `insert into read_models.billing_invoices select organization_id, '2026-08', 'inv_x', closed_at, invoice
       from read_models.billing_invoices where month = '2026-09'`,
    );
    expect((await ask('GET', '/v1/billing/invoices')).body.data).toEqual(body.data);
  });
});
