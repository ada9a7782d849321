import { randomUUID } from 'node:crypto';
import { startEventStoreDbDouble } from '../../support/eventstoredb-double/start.ts';
import { openEventStoreDb } from './eventstoredb-store.ts';
import { replacedLogContract } from './replaced-log.contract.ts';

const LOG_ID_STREAM = 'outboxLog-identity';

for (const style of ['24.6.0', '24.10.5'] as const) {
  replacedLogContract(`in EventStoreDB ${style}`, async () => {
    const double = await startEventStoreDbDouble(style);
    const store = openEventStoreDb(double.url);
    const { log } = double;
    const comesBackAfter = async (work: () => void): Promise<void> => {
      await double.stop();
      work();
      await double.start();
    };
    let closed: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      await store.close();
      await double.close();
    };
    const append = (stream: string, data: object): void => {
      const event = { id: randomUUID(), type: 'KeyRevoked', contentType: 'application/json' };
      const bytes = { data: Buffer.from(JSON.stringify(data)), metadata: Buffer.from('{"schemaVersion":1}') };
      log.append({ stream, expected: 'no-stream', events: [{ ...event, ...bytes }] });
    };
    return {
      store,
      comesBackShorterBy: (events) => comesBackAfter(() => log.restoreTo(log.records.length - events)),
      comesBackEmpty: () => comesBackAfter(() => log.restoreTo(0)),
      comesBackAsAnother: () =>
        comesBackAfter(() => {
          log.restoreTo(0);
          append(LOG_ID_STREAM, { logId: randomUUID() });
          for (let n = 0; n < 50; n += 1) append(`apiKey-other${n}`, { keyId: 'of another' });
        }),
      close: () => {
        closed ??= close();
        return closed;
      },
    };
  });
}
