import { describe, it } from 'vitest';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { ServerStyle } from '../../support/eventstoredb-double/bad-days.ts';
import { startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import { eventStoreContract } from './event-store.contract.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';

/** Opens several stores on one server, which are closed together. */
const storesOn = (url: string) => {
  const store = openEventStoreDb(url);
  const stores = [store];
  return {
    store,
    openAnother: async (): Promise<EventStore> => {
      const another = openEventStoreDb(url);
      stores.push(another);
      return another;
    },
    close: async (): Promise<void> => {
      await Promise.all(stores.map((one) => one.close()));
    },
  };
};

const onDouble = (style: ServerStyle): void =>
  eventStoreContract({
    name: `on the EventStoreDB double ${style}`,
    supports: ['outage', 'freeze', 'lost-answer', 'other-process', 'metered'],
    open: async () => {
      const double = await startEventStoreDbDouble(style);
      const stores = storesOn(double.url);
      return {
        ...stores,
        server: double,
        loseNextAnswer: () => {
          double.badDays.unacknowledgedAppends += 1;
        },
        receivedBytes: double.sentBytes,
        close: async () => {
          await stores.close();
          await double.close();
        },
      };
    },
  });

onDouble('24.10.5');
onDouble('23.10.8');

const realUrl = process.env.EVENTSTORE_URL ?? '';

if (realUrl === '' && process.env.CI_ENGINES === 'required') {
  // No distribution packages the server, so it cannot be required where engines are installed.
} else if (realUrl === '') {
  describe('event store on a real EventStoreDB', () => {
    it.skip('runs when EVENTSTORE_URL is set: EVENTSTORE_URL=esdb://… npm run test:event-store', () => {});
  });
} else {
  eventStoreContract({
    name: 'on the EventStoreDB of EVENTSTORE_URL',
    supports: ['other-process'],
    open: async () => storesOn(realUrl),
  });
}
