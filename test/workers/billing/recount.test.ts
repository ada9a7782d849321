import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPostgresEventStore } from '../../../src/adapters/event-store.ts';
import { createSystem } from '../../../src/adapters/system.ts';
import { createOrganization } from '../../../src/commands/organization.ts';
import { invoiceIdOf } from '../../../src/domain/billing/invoice.ts';
import { BUILT_IN_PLANS } from '../../../src/domain/billing/plan.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { OutboxEvent } from '../../../src/domain/kernel/events.ts';
import { invoiceStream, messageStream } from '../../../src/domain/kernel/streams.ts';
import { billingProjection } from '../../../src/projections/billing.ts';
import { createBillingRecount } from '../../../src/projections/billing-recount.ts';
import { createReadModels } from '../../../src/projections/read-models.ts';
import { rebuild } from '../../../src/projections/runner.ts';
import { closePeriods } from '../../../src/workers/close-periods.ts';
import { createOrganizations } from '../../../src/workers/in-memory-projections.ts';
import { LATER_EVENTS } from '../../projections/support/message-events.ts';
import { caughtUp, openPool, startRunner } from '../../projections/support/open.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { createInMemorySecrets } from '../../support/in-memory/secrets.ts';
import { silentLogger } from '../../support/logger.ts';
import { contextAt } from '../../support/specification.ts';
import { createRecordingLogger } from '../recording-logger.ts';

const PATIENCE = { timeout: 20_000 };
const HOUR_MS = 3_600_000;
const SEPTEMBER = '2026-09-20T12:00:00.000Z';

const TWO = [recipient('rcp_1'), recipient('rcp_2')];

/** An organization since September, with 6 recipients accepted in October, one of whom failed. */
const open = async () => {
  const pool = await openPool();
  const real = createSystem();
  let now = new Date('2026-11-01T03:00:00.000Z');
  // All waits are short: the test sets the clock.
  const system = { ...real, now: () => now, sleep: (_: number, signal?: AbortSignal) => real.sleep(20, signal) };
  const store = await createPostgresEventStore({
    url: pool.url,
    codec: eventCodec,
    system: real,
    logger: silentLogger,
  });
  onTestFinished(() => store.close());
  const earlier = { ...system, now: () => new Date(SEPTEMBER) };
  const context = { store, system: earlier, secrets: createInMemorySecrets(), plans: BUILT_IN_PLANS };
  const organizationId = await createOrganization(context as never, { name: 'Mine', ceilings: null });
  const append = (id: string, at: string, event: OutboxEvent, expected: number | 'no-stream' = 'no-stream') =>
    store.append({
      ...{ stream: messageStream(id), expected, events: [{ ...event, id: real.uuid() }] },
      context: contextAt(at, organizationId),
    });
  for (const [id, at] of [
    ['msg_1', '2026-10-01T00:00:00.000Z'],
    ['msg_2', '2026-10-01T10:00:00.000Z'],
    ['msg_3', '2026-10-31T23:59:59.000Z'],
  ] as const)
    await append(id, at, messageAccepted({ messageId: id, recipients: TWO }));
  const failed = LATER_EVENTS.RecipientFailed;
  await append(
    'msg_1',
    '2026-10-02T00:00:00.000Z',
    { ...failed, data: { ...failed.data, messageId: 'msg_1' } } as never,
    0,
  );
  const logger = createRecordingLogger();
  const stopped: number[] = [];
  const follow = async () => {
    const runner = startRunner(pool, store, [billingProjection]);
    expect(await caughtUp(pool, store, [billingProjection])).toBe(true);
    await runner.stop();
  };
  await follow();
  const start = async () => {
    const { organizations, apply } = createOrganizations();
    for (const event of (await store.readAll({ limit: 100 })).events)
      if (event.stream.startsWith('organization-')) apply(event);
    const { billing } = createReadModels({ pool, store, system });
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const work = closePeriods({
      ...{ store, system, logger, plans: BUILT_IN_PLANS, organizations, leadership: { isLeader: () => true } },
      billing: { ...billing, upTo: async () => true, recount: (from) => createBillingRecount(store, from) },
      onStopped: (organizations) => void stopped.push(organizations),
    });
    void work(stopping.signal, () => undefined);
  };
  const invoiced = async () => {
    const events = await store.readStream(invoiceStream(invoiceIdOf(organizationId, '2026-10')));
    return events.flatMap((event) =>
      event.type === 'InvoiceClosed' ? event.data.lines.filter(({ kind }) => kind === 'recipients') : [],
    );
  };
  const later = (ms: number) => {
    now = new Date(now.getTime() + ms);
  };
  return { pool, store, start, invoiced, logger, stopped, follow, later, organizationId };
};

describe('an invoice', () => {
  test('is closed if the log has the recipients that were counted', async () => {
    const { start, invoiced, stopped } = await open();
    await start();
    await vi.waitFor(async () => expect(await invoiced()).toMatchObject([{ quantity: 5 }]), PATIENCE);
    expect(stopped.at(-1)).toBe(0);
  });

  test.each([
    [
      'more recipients',
      'update read_models.billing_days set billable_recipients = billable_recipients + 1000',
      '2026-10-01: counted 1003 recipients, but the log has 3',
    ],
    [
      'fewer recipients',
      `delete from read_models.billing_days where day = '2026-10-31'`,
      '2026-10-31: counted 0 recipients, but the log has 2',
    ],
    [
      'another day',
      `update read_models.billing_days set day = '2026-10-05' where day = '2026-10-01'`,
      '2026-10-05: counted 3 recipients, but the log has 0',
    ],
    [
      'another first event',
      `update read_models.billing_days set after_position = lpad('4', 16, '0') where day = '2026-10-01'`,
      '2026-10-01: the counted events do not begin where the log has them',
    ],
  ])(
    'is not closed if the database was changed to %s, and is closed once it is right again',
    async (_, sql, sentence) => {
      const { pool, store, start, invoiced, logger, stopped, later, organizationId } = await open();
      expect((await pool.query(sql)).rowCount).toBeGreaterThan(0);
      await start();
      await vi.waitFor(() => expect(stopped.at(-1)).toBe(1), PATIENCE);
      expect(await invoiced()).toEqual([]);
      expect(logger.fieldsOf('error')).toEqual([{ alarm: 'billing', organizationId, month: '2026-10' }]);
      expect(logger.said('error')).toEqual([expect.stringContaining(sentence)]);
      await rebuild({ pool, store, logger: silentLogger }, [billingProjection]);
      later(HOUR_MS);
      await vi.waitFor(async () => expect(await invoiced()).toMatchObject([{ quantity: 5 }]), PATIENCE);
      expect(stopped.at(-1)).toBe(0);
    },
  );
});
