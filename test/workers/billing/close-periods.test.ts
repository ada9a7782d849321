import { afterEach, expect, test } from 'vitest';
import { changePlan, createOrganization } from '../../../src/commands/organization.ts';
import { invoiceIdOf } from '../../../src/domain/billing/invoice.ts';
import { BUILT_IN_PLANS, type Plan } from '../../../src/domain/billing/plan.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { invoiceStream } from '../../../src/domain/kernel/streams.ts';
import { type BillingQueries, closePeriods, watchQuotas } from '../../../src/workers/close-periods.ts';
import { createOrganizations } from '../../../src/workers/in-memory-projections.ts';
import type { Work } from '../../../src/workers/supervise.ts';
import { countedDays } from '../../support/counted-days.ts';
import { createInMemoryContents } from '../../support/in-memory/contents.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { silentLogger } from '../../support/logger.ts';
import { createSteppableSystem } from '../../support/system.ts';

const STARTER: Plan = {
  ...{ id: 'starter', name: 'Starter', currency: 'EUR', price: 1900, included: 10, overagePer1000: '1000' },
  hardLimit: null,
};
const PLANS = { default: BUILT_IN_PLANS.default, offered: [STARTER] };

const running: AbortController[] = [];
afterEach(() => {
  for (const each of running.splice(0)) each.abort();
});

/** An organization created in August, and any number of processes that bill it. */
const open = async () => {
  const system = createSteppableSystem({ seed: 1, start: '2026-10-31T23:55:00.000Z' });
  const earlier = createSteppableSystem({ seed: 2, start: '2026-08-20T00:00:00.000Z' });
  const contents = createInMemoryContents();
  const store = createInMemoryEventStore({ codec: eventCodec, system, contents });
  const context = { store, system: earlier, contents, secrets: createInMemorySecrets(), plans: PLANS };
  const organizationId = await createOrganization(context as never, { name: 'Mine', ceilings: null });
  const origin = {
    actor: 'key:a',
    organizationId,
    environment: null,
    requestId: null,
    correlationId: 'c',
    causationId: 'c',
  };
  await changePlan(context as never, origin, { planId: 'starter', plans: PLANS });
  const days = new Map<string, number>();
  const billing: BillingQueries = {
    count: async () => ({ days: countedDays(days), countedTo: { position: await store.head(), at: null } }),
    lastInvoices: async () => new Map(),
    recipients: async ({ start, end }) =>
      new Map([[organizationId, [...days].reduce((sum, [day, n]) => (day >= start && day < end ? sum + n : sum), 0)]]),
    upTo: async () => true,
    recount: (from) => ({ from, upTo: async () => countedDays(days) }),
  };
  const process = async (work: typeof closePeriods | typeof watchQuotas): Promise<void> => {
    const { organizations, apply } = createOrganizations();
    for (const event of (await store.readAll({ limit: 100 })).events) {
      if (event.stream.startsWith('organization-')) apply(event);
    }
    const stopping = new AbortController();
    running.push(stopping);
    const of: Work = work({
      store,
      system,
      plans: PLANS,
      billing,
      organizations,
      leadership: { isLeader: () => true },
      logger: silentLogger,
    });
    void of(stopping.signal, () => undefined);
  };
  const eventsOf = async (month: string) =>
    (await store.readStream(invoiceStream(invoiceIdOf(organizationId, month)))).map(({ type }) => type);
  return { system, days, process, eventsOf };
};

test('months are closed an hour after their end, in order and once, with any number of processes', async () => {
  const { system, process, eventsOf } = await open();
  for (let processes = 0; processes < 2; processes += 1) await process(closePeriods);
  await system.advance(1000);
  for (const month of ['2026-08', '2026-09']) expect(await eventsOf(month)).toEqual(['InvoiceClosed']);
  expect(await eventsOf('2026-07')).toEqual([]);
  await system.advance(Date.parse('2026-11-01T00:59:00.000Z') - system.now().getTime());
  expect(await eventsOf('2026-10')).toEqual([]);
  await system.advance(90_000);
  expect(await eventsOf('2026-10')).toEqual(['InvoiceClosed']);
  await process(closePeriods); // restarted, with a read model without the invoice
  await system.advance(60_000);
  for (const month of ['2026-08', '2026-10']) expect(await eventsOf(month)).toEqual(['InvoiceClosed']);
  expect(await eventsOf('2026-11')).toEqual([]);
});

test('a quota causes one notice at each level, and again in the next month', async () => {
  const { system, days, process, eventsOf } = await open();
  for (let processes = 0; processes < 2; processes += 1) await process(watchQuotas);
  for (const [recipients, types] of [
    [7, []],
    [8, ['QuotaWarned']],
    [9, ['QuotaWarned']],
    [12, ['QuotaWarned', 'QuotaExceeded']],
  ] as const) {
    days.set('2026-10-21', recipients);
    await system.advance(20_000);
    expect(await eventsOf('2026-10')).toEqual(types);
  }
  days.set('2026-11-01', 100);
  await system.advance(Date.parse('2026-11-01T00:01:00.000Z') - system.now().getTime());
  expect(await eventsOf('2026-11')).toEqual(['QuotaWarned', 'QuotaExceeded']);
});
