import { createSystem } from '../../../src/adapters/system.ts';
import { eventCodec } from '../../../src/domain/kernel/codec.ts';
import { createInMemoryEventStore } from '../../support/in-memory-event-store.ts';
import { eventStoreContract } from './event-store.contract.ts';

eventStoreContract({
  name: 'in memory',
  supports: [],
  open: async () => {
    const store = createInMemoryEventStore({ codec: eventCodec, system: createSystem() });
    return { store, close: () => store.close() };
  },
});
