import { expect, test } from 'vitest';
import {
  createDestinationQueues,
  type DestinationQueuesParts,
} from '../../../src/workers/delivery/destination-queues.ts';
import type { MessageClass } from '../../../src/workers/delivery/due.ts';
import { silentLogger } from '../../support/logger.ts';
import { createSteppableSystem } from '../../support/system.ts';

const SUSPENDED = 'suspended.example';

/** Queues with an unresponsive log, so that started attempts stay in flight. */
const open = () => {
  const system = createSteppableSystem();
  const parts = {
    system,
    logger: silentLogger,
    store: { readStream: () => new Promise(() => undefined) },
    acceptedCache: { take: () => undefined },
    destinations: { providerOf: async (domain: string) => domain },
    destinationLimits: {
      concurrencyOf: (destination: string) => (destination === SUSPENDED ? 0 : 1),
      waitMsOf: () => 0,
      capacityOf: () => Number.POSITIVE_INFINITY,
      started: () => undefined,
      destinationOf: async (domain: string) => domain,
      report: () => [],
    },
  };
  const queues = createDestinationQueues(parts as unknown as DestinationQueuesParts);
  const offer = async (messageClass: MessageClass, destination: string, ids: readonly number[]): Promise<void> => {
    const due = ids.map((id) => ({ messageId: `msg_${id}`, destination }));
    await queues.handlerOf(messageClass)({ due }, new AbortController().signal);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { system, queues, offer };
};

test('a recipient domain is saturated, for one message class, while enough of its mail waits', async () => {
  const { queues, offer } = open();
  const numbers = Array.from({ length: 20 }, (_, index) => index);
  await offer('transactional', 'example.net', numbers);
  expect(queues.saturated('transactional')).toEqual([]);
  await offer('transactional', 'example.net', [20]);
  expect(queues.saturated('transactional')).toEqual(['example.net']);
  expect(queues.saturated('bulk')).toEqual([]);
});

test('a recipient domain is saturated for 4 s after its mail was refused, and not by a duplicate', async () => {
  const { system, queues, offer } = open();
  await offer('bulk', 'example.net', [1, 1]);
  expect(queues.saturated('bulk')).toEqual([]);
  await offer('bulk', SUSPENDED, [2]);
  expect(queues.saturated('bulk')).toEqual([SUSPENDED]);
  expect(queues.saturated('transactional')).toEqual([]);
  await system.advance(4_000);
  expect(queues.saturated('bulk')).toEqual([]);
});
