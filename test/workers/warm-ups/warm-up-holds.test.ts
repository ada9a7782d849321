import { expect, test } from 'vitest';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import { message } from '../../../src/domain/message/message.ts';
import { createWarmUpHolds } from '../../../src/workers/warm-ups.ts';
import { messageAccepted, recipient } from '../../support/controls/message.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { contextAt } from '../../support/specification.ts';
import { createSteppableSystem } from '../../support/system.ts';

const HOLDER = 'warmUp-dom_1';
/** More failed offers than it takes for a plan to hold the waiting mail for the rest of the day. */
const PASSES = 20;

const started = (plan: readonly number[]): RecordedEvent =>
  ({
    type: 'WarmUpStarted',
    stream: HOLDER,
    data: { domainId: 'dom_1', startsOn: '2026-11-22', plan },
    metadata: { organizationId: 'org_1', environment: 'live', occurredAt: '2026-11-22T10:00:00.000Z' },
  }) as unknown as RecordedEvent;

test('a plan that replaced another offers its quota until the offers were in vain, whatever else its domain holds', () => {
  const system = createSteppableSystem();
  const holds = createWarmUpHolds({ store: createInMemoryEventStore({ codec: eventCodec, system }), system });
  holds.apply(started([1]));
  expect(holds.keeps(HOLDER)).toBe(true);
  holds.apply(started([100]));
  expect(holds.keeps(HOLDER)).toBe(false);
  for (let pass = 0; pass < PASSES; pass += 1) holds.offered('dom_1'); // held by a pause of the domain
  expect(holds.keeps(HOLDER)).toBe(false);
  expect(holds.keeps('dom_1')).toBe(false);
  for (let pass = 0; pass < PASSES; pass += 1) holds.offered(HOLDER);
  expect(holds.keeps(HOLDER)).toBe(true);
});

test('a test send of a template is not counted', async () => {
  const system = createSteppableSystem();
  const store = createInMemoryEventStore({ codec: eventCodec, system });
  const holds = createWarmUpHolds({ store, system });
  const today = system.now().toISOString();
  const plan = started([1]);
  holds.apply({ ...plan, data: { domainId: 'dom_1', startsOn: today.slice(0, 10), plan: [1] } } as RecordedEvent);
  const ofMessage = (trial: { readonly trial?: true }) => {
    const accepted = messageAccepted({ domainId: 'dom_1', recipients: [recipient('rcp_1')], ...trial });
    const state = message.evolve(message.initial, accepted, contextAt(today));
    if (state.status === 'absent') throw new Error('not accepted');
    return holds.of(state, state.recipients);
  };
  expect(ofMessage({ trial: true })).toBeNull();
  expect(await ofMessage({})).toBeNull();
  expect(await store.head()).not.toBe(0n);
});
