import { expect, onTestFinished, test } from 'vitest';
import { apiClient } from '../support/api-client.ts';
import { type EventStoreDbDouble, startEventStoreDbDouble } from '../support/eventstoredb-double/start.ts';
import { unlimitedKey } from '../support/operator.ts';
import { placeForTest, programForTest } from '../support/place-for-test.ts';
import { allDelivered, sendMany } from '../support/senders.ts';

const MESSAGES = 300;
const DELIVERED_MS_MAX = 60_000;

/** The program with a server that is as fast as a local one, or as slow as a remote one. */
const onServer = async (callMs: number): Promise<{ double: EventStoreDbDouble; api: ReturnType<typeof apiClient> }> => {
  const double = await startEventStoreDbDouble('24.6.0');
  onTestFinished(double.close);
  Object.assign(double.costs, { callMs, readsAtOnce: 8, scannedPerSecond: 30_000 });
  const options = await placeForTest({ EVENTSTORE_URL: double.url });
  const program = await programForTest(options);
  return { double, api: apiClient(program.baseUrl, await unlimitedKey(options)) };
};

const CALLS = [
  ['nearby', 2],
  ['far away', 30],
] as const;

test.each(CALLS)(
  'on a server %s a message costs the log one append each to accept, claim and record it, and no read',
  async (_, callMs) => {
    const { double, api } = await onServer(callMs);
    const before = double.counts();
    const streamsBefore = double.streamsRead.length;
    const sending = sendMany(api, MESSAGES);
    await sending.done;
    const sent = sending.accepted.length;
    expect(sent).toBeGreaterThan(0.9 * MESSAGES); // a busy machine rejects some
    await allDelivered(api, sending.accepted, DELIVERED_MS_MAX);
    const { append, readAll, subscribe } = double.counts();
    // The margin covers the service's own events, and repeated claims on a busy machine.
    expect(append.calls - before.append.calls).toBeGreaterThanOrEqual(3 * sent);
    expect(append.calls - before.append.calls).toBeLessThan(3.2 * sent);
    // A busy machine reads some streams again.
    expect(double.streamsRead.slice(streamsBefore).length).toBeLessThan(sent / 2);
    // Followers share one subscription, which may have to be reopened.
    expect(subscribe.calls).toBeLessThanOrEqual(3);
    expect(subscribe.events - before.subscribe.events).toBeLessThan(3.5 * sent);
    // A busy machine re-reads events that the followers did not receive in time.
    expect(readAll.events - before.readAll.events).toBeLessThan(6 * sent);
  },
);
