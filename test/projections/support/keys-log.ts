import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { OutboxEvent } from '../../../src/domain/kernel/events.ts';
import { keyCreated } from '../../support/controls/api-key.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { contextAt } from '../../support/specification.ts';

export const system = createSystem();
export const LONG_AGO = '2026-01-01T00:00:00.000Z';

export const newStore = (): EventStore => createInMemoryEventStore({ codec: eventCodec, system });

/** Appends one small event to a new stream. */
export const appendKey = (
  store: EventStore,
  keyId: string,
  event: OutboxEvent = keyCreated({ keyId }),
  occurredAt = LONG_AGO,
) =>
  store.append({
    stream: `apiKey-${keyId}`,
    expected: 'no-stream',
    context: contextAt(occurredAt),
    events: [{ ...event, id: system.uuid() }],
  });

/** Waits up to five seconds. @returns true if the condition was met. */
export const until = async (isTrue: () => boolean | Promise<boolean>): Promise<boolean> => {
  for (let tries = 0; tries < 3_000; tries += 1) {
    if (await isTrue()) return true;
    await system.sleep(10);
  }
  return false;
};
