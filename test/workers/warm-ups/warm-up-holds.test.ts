import { expect, test } from 'vitest';
import { eventCodec } from '../../../src/domain/codec.ts';
import type { RecordedEvent } from '../../../src/domain/ports/event-store.ts';
import { createWarmUpHolds } from '../../../src/workers/warm-ups/warm-up-holds.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { createSteppableSystem } from '../../support/system.ts';

const HOLDER = 'warmUp-dom_1';
/** More than are made in vain before a plan keeps what waits for the rest of the day. */
const PASSES = 20;

const started = (plan: readonly number[]): RecordedEvent =>
  ({
    type: 'WarmUpStarted',
    stream: HOLDER,
    data: { domainId: 'dom_1', startsOn: '2026-11-22', plan },
    metadata: { organizationId: 'org_1', environment: 'live', occurredAt: '2026-11-22T10:00:00.000Z' },
  }) as unknown as RecordedEvent;

test('a plan that replaced another offers its quota until that was in vain, whatever else its domain holds', () => {
  const system = createSteppableSystem();
  const holds = createWarmUpHolds({ store: createInMemoryEventStore({ codec: eventCodec, system }), system });
  holds.apply(started([1]));
  expect(holds.keeps(HOLDER)).toBe(true);
  holds.apply(started([100]));
  expect(holds.keeps(HOLDER)).toBe(false);
  for (let pass = 0; pass < PASSES; pass += 1) holds.offered('dom_1'); // what a pause of the domain kept back
  expect(holds.keeps(HOLDER)).toBe(false);
  expect(holds.keeps('dom_1')).toBe(false);
  for (let pass = 0; pass < PASSES; pass += 1) holds.offered(HOLDER);
  expect(holds.keeps(HOLDER)).toBe(true);
});
