import { expect, test, vi } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { type EventCodec, eventCodec, MalformedEvent, UnknownEvent } from '../../src/domain/kernel/codec.ts';
import { closedAfterTest } from '../support/after-test.ts';
import { createInMemoryContents } from '../support/in-memory/contents.ts';
import { createInMemoryEventStore } from '../support/in-memory-event-store.ts';
import { openService } from './service.ts';

test.each([
  ['a type that they do not know', new UnknownEvent('MessageAccepted', 7)],
  ['data that its type does not allow', new MalformedEvent('MessageAccepted: no data')],
])('workers that read an event of %s make the process exit', async (_, fault) => {
  const decode: EventCodec['decode'] = (stored) => {
    if (stored.type === 'MessageAccepted') throw fault;
    return eventCodec.decode(stored);
  };
  const contents = createInMemoryContents();
  const store = createInMemoryEventStore({ codec: { ...eventCodec, decode }, system: createSystem(), contents });
  const service = closedAfterTest(await openService({ store, contents }));
  service.workers().start();
  await service.send('ann@example.org', 'test');
  await vi.waitFor(() => expect(service.fatal).toContain(fault), { timeout: 5000, interval: 20 });
});
