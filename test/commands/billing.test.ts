import { describe, expect, test } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { positionBeforeMonth } from '../../src/commands/billing.ts';
import { createOrganization } from '../../src/commands/organization.ts';
import { invoiceIdOf } from '../../src/domain/billing/invoice.ts';
import { eventCodec } from '../../src/domain/kernel/codec.ts';
import { invoiceStream, organizationStream } from '../../src/domain/kernel/streams.ts';
import { createInMemorySecrets } from '../support/in-memory/secrets.ts';
import { createInMemoryEventStore } from '../support/in-memory-event-store.ts';
import { contextAt } from '../support/specification.ts';

const COUNTED_TO = '0000000000000900';

/** An organization whose invoice for September counted the events up to a time. */
const invoicedTo = async (at: string) => {
  const system = createSystem();
  const store = createInMemoryEventStore({ codec: eventCodec, system });
  const context = { store, system, secrets: createInMemorySecrets() };
  const organizationId = await createOrganization(context as never, { name: 'Mine', ceilings: null });
  const invoiceId = invoiceIdOf(organizationId, '2026-09');
  const data = {
    ...{ organizationId, invoiceId, month: '2026-09', currency: 'EUR', lines: [], total: 0 },
    countedTo: { position: COUNTED_TO, at },
  };
  await store.append({
    stream: invoiceStream(invoiceId),
    expected: 'no-stream',
    events: [{ id: system.uuid(), type: 'InvoiceClosed', data }],
    context: contextAt('2026-11-01T00:00:00.000Z', organizationId),
  });
  const [created] = await store.readStream(organizationStream(organizationId));
  return { found: await positionBeforeMonth({ store }, { organizationId, month: '2026-10' }), created };
};

describe('the events of a month', () => {
  test('come after those that the invoice of the month before has counted', async () => {
    expect((await invoicedTo('2026-09-30T23:59:59.999Z')).found).toBe(COUNTED_TO);
  });

  test('may come before what that invoice has counted, if it was closed late', async () => {
    const { found, created } = await invoicedTo('2026-10-01T00:00:00.000Z');
    expect(found).toBe(created?.position);
  });
});
