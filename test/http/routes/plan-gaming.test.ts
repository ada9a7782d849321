import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../src/adapters/system.ts';
import { claimAttempt } from '../../../src/commands/message/attempt.ts';
import { changePlan } from '../../../src/commands/organization.ts';
import { BUILT_IN_PLANS, type Plan, planOf } from '../../../src/domain/billing/plan.ts';
import { eventually } from '../../support/api-client.ts';
import { type DatabaseService, startDatabaseService } from '../support/database-service.ts';
import { operator } from '../support/service.ts';

const plan = (more: Partial<Plan>): Plan => ({ ...BUILT_IN_PLANS.default, ...more });
const TINY = plan({ id: 'tiny', name: 'Tiny', included: 3, hardLimit: 3 });
const BIG = plan({ id: 'big', name: 'Big', price: 9_000, included: 90_000 });
const MID = plan({ id: 'mid', name: 'Mid', price: 900, included: 900 });
const PLANS = { default: TINY, offered: [TINY, MID, BIG] };

let aheadMs = 0;
const real = createSystem();
const system = { ...real, monotonicMs: () => real.monotonicMs() + aheadMs };

let service: DatabaseService;
let other: DatabaseService;
beforeAll(async () => {
  service = await startDatabaseService({ plans: PLANS, system });
  other = await startDatabaseService({ plans: PLANS, system, beside: service });
});
afterAll(async () => {
  await other.close();
  await service.close();
});

const open = async (name: string) => {
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, `${name}.test`);
  const { value: key } = await service.makeKey(organizationId, domainId, { permissions: ['admin'] });
  const ask = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object, by = service) => {
    const answer = await by.request({ method, url, key, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json() };
  };
  const send = (to: readonly string[], more: object = {}) =>
    ask('POST', '/v1/messages/send', { from: `a@${name}.test`, to, subject: 'Hello', text: 'Hello', ...more });
  const used = async (): Promise<number> => (await ask('GET', '/v1/billing')).body.usage.billable_recipients;
  return { organizationId, ask, send, used };
};

const WEEK_MS = 604_800_000;
const TO = ['b@example.org', 'c@example.org'];

describe('a plan cannot be gamed', () => {
  test('by cancelling: a cancelled message counts, and sending it again counts again', async () => {
    const { ask, send, used } = await open('cancelling');
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const first = await send(TO, { scheduled_at: inAnHour });
    expect((await ask('POST', `/v1/messages/${first.body.id}/cancel`)).body.status).toBe('cancelled');
    expect(await used()).toBe(2);
    const again = await send(TO);
    expect([again.status, again.body.error?.code]).toEqual([422, 'quota_exceeded']);
    expect((await send(['b@example.org'])).status).toBe(202);
    expect(await used()).toBe(3);
  });

  test('by test sends of templates, which count and are refused above the limit', async () => {
    const { ask, used } = await open('testing');
    const content = { subject: 'Hello', html: '<p>Hello</p>' };
    const { id } = (await ask('POST', '/v1/templates', { alias: 'testing', name: 'Testing', ...content })).body;
    const testSend = (to: readonly string[]) => ask('POST', `/v1/templates/${id}/test-send`, { to });
    expect((await testSend(TO)).status).toBe(202);
    expect(await used()).toBe(2);
    expect((await testSend(TO)).body).toMatchObject({ error: { code: 'quota_exceeded' } });
  });

  test('by sending a test of a template again', async () => {
    const { ask, used } = await open('again');
    const content = { subject: 'Hello', html: '<p>Hello</p>' };
    const { id } = (await ask('POST', '/v1/templates', { alias: 'again', name: 'Again', ...content })).body;
    const sent = await ask('POST', `/v1/templates/${id}/test-send`, { to: TO });
    expect(sent.status).toBe(202);
    const { context } = service.deps;
    const later = { ...context, system: { ...context.system, now: () => new Date(Date.now() + WEEK_MS) } };
    const due = { messageId: sent.body.id, leaseMs: 60_000, random: 0.5, domainDeletedBy: () => null };
    expect(await claimAttempt(later, due)).toMatchObject({ claimed: false });
    expect((await ask('GET', `/v1/messages/${sent.body.id}`)).body.status).toBe('expired');
    const resent = await ask('POST', `/v1/messages/${sent.body.id}/resend`);
    expect(resent.body.error?.code).toBe('quota_exceeded');
    expect(await used()).toBe(2);
  });

  test('by a batch that crosses the limit: a partial one has only what fits', async () => {
    const { ask, used } = await open('batches');
    const messages = [TO, TO, ['d@example.org']].map((to) => ({
      ...{ from: 'a@batches.test', to, subject: 'Hello', text: 'Hello' },
    }));
    const { body } = await ask('POST', '/v1/messages/batch', { messages, mode: 'partial' });
    expect(body.data.map(({ status }: { status: string }) => status)).toEqual(['accepted', 'refused', 'accepted']);
    expect(await used()).toBe(3);
  });

  test('by two changes at the same moment: neither lowers anything today', async () => {
    const { organizationId } = await open('twice');
    const { context } = service.deps;
    const choose = (planId: string) => changePlan(context, operator(organizationId), { planId, plans: PLANS });
    await choose('big');
    await Promise.allSettled([choose('tiny'), choose('mid'), choose('tiny'), choose('mid')]);
    const { organization } = await choose('tiny');
    const now = context.system.now().toISOString();
    expect(planOf(organization, PLANS, now).id).toBe('big');
    const later = organization.chosenPlans.slice(1).map(({ from }) => from);
    expect(later.every((from) => from > now.slice(0, 10))).toBe(true);
  });

  test('by two processes at once: each counts what the other has accepted before it accepts more', async () => {
    const { ask, used } = await open('processes');
    const sendBy = async (by: DatabaseService, to: readonly string[]): Promise<number> => {
      const message = { from: 'a@processes.test', to, subject: 'Hello', text: 'Hello' };
      const { status, body } = await ask('POST', '/v1/messages/send', message, by);
      expect([202, 422]).toContain(status);
      if (status === 422) expect(body.error.code).toBe('quota_exceeded');
      return status === 202 ? to.length : 0;
    };
    let accepted = (await sendBy(service, ['b@example.org'])) + (await sendBy(other, ['c@example.org']));
    const race = [service, other, service, other].map((by, at) => sendBy(by, [`d${at}@example.org`]));
    for (const recipients of await Promise.all(race)) accepted += recipients;
    // A process may not know yet what the other has accepted in these seconds.
    expect(accepted).toBeGreaterThanOrEqual(3);
    aheadMs += 2_000;
    expect([await sendBy(other, ['e@example.org']), await sendBy(service, ['e@example.org'])]).toEqual([0, 0]);
    expect(await used()).toBe(accepted);
  });

  test('by choosing a big plan, sending, and choosing the small one again: the day is that of the big plan', async () => {
    const { ask, used } = await open('big');
    expect((await ask('PUT', '/v1/billing/plan', { plan: 'big' })).status).toBe(200);
    const to = Array.from({ length: 50 }, (_, at) => `r${at}@example.org`);
    const message = { from: 'a@big.test', to, subject: 'Hello', text: 'Hello' };
    const messages = Array.from({ length: 7 }, () => message);
    // The process that sends follows the log, in which the plan is.
    await eventually(
      () => ask('POST', '/v1/messages/batch', { messages }),
      ({ status }) => status === 202,
    );
    expect(await used()).toBe(350);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    expect((await ask('PUT', '/v1/billing/plan', { plan: 'tiny' })).body.applies_from).toBe(tomorrow);
    expect((await ask('GET', '/v1/billing')).body.plan).toMatchObject({ id: 'big', price: 9_000 });
  });

  test('by a time zone: days are those of UTC, wherever the organization is', async () => {
    const { ask } = await open('zone');
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    expect((await ask('PUT', '/v1/billing/plan', { plan: 'big' })).status).toBe(200);
    for (const timezone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
      expect((await ask('PATCH', '/v1/organization', { timezone })).body.timezone).toBe(timezone);
      expect((await ask('PUT', '/v1/billing/plan', { plan: 'tiny' })).body.applies_from).toBe(tomorrow);
      expect((await ask('GET', '/v1/billing')).body).toMatchObject({
        plan: { id: 'big' },
        next_plan: { plan: { id: 'tiny' } },
      });
    }
  });
});
