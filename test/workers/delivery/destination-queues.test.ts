import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { MailTransport } from '../../../src/domain/ports/mail.ts';
import {
  createDestinationQueues,
  type DestinationQueuesParts,
} from '../../../src/workers/delivery/destination-queues.ts';
import type { MessageClass } from '../../../src/workers/delivery/due.ts';
import { createSendingDomains } from '../../../src/workers/domains/sending-domains.ts';
import { closedAfterTest } from '../../support/after-test.ts';
import { silentLogger } from '../../support/logger.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { openService } from '../service.ts';

const SUSPENDED = 'suspended.example';
/** A destination whose rate limit lets few messages wait. */
const SLOW = 'slow.example';

/** Queues with an unresponsive log, so that started attempts stay in flight. */
const open = () => {
  const tried: string[] = [];
  const system = createSteppableSystem();
  const parts = {
    system,
    logger: silentLogger,
    store: {
      readStream: (stream: string) => {
        tried.push(stream);
        return new Promise(() => undefined);
      },
    },
    acceptedCache: { take: () => undefined },
    destinations: { providerOf: async (domain: string) => domain },
    destinationLimits: {
      concurrencyOf: (destination: string) => (destination === SUSPENDED ? 0 : 1),
      waitMsOf: () => 0,
      capacityOf: (destination: string) => (destination === SLOW ? 5 : Number.POSITIVE_INFINITY),
      started: () => undefined,
      destinationOf: async (domain: string) => domain,
      report: () => [],
    },
  };
  const queues = createDestinationQueues(parts as unknown as DestinationQueuesParts);
  const offer = async (
    messageClass: MessageClass,
    destination: string,
    ids: readonly number[],
    organizationId?: string,
  ): Promise<void> => {
    const due = ids.map((id) => ({ messageId: `msg_${id}`, destination, organizationId }));
    await queues.handlerOf(messageClass)({ due }, new AbortController().signal);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { system, queues, offer, tried };
};

test('a recipient domain is saturated, for one message class, while enough of its mail waits', async () => {
  const { queues, offer } = open();
  const numbers = Array.from({ length: 20 }, (_, index) => index);
  await offer('transactional', 'example.net', numbers);
  expect(queues.saturated('transactional')).toEqual([]);
  await offer('transactional', 'example.net', [20]);
  expect(queues.saturated('transactional')).toEqual(['example.net ']);
  expect(queues.saturated('bulk')).toEqual([]);
});

test('a recipient domain is saturated for each organization, by its own mail', async () => {
  const { queues, offer } = open();
  const numbers = Array.from({ length: 400 }, (_, index) => index);
  await offer('bulk', 'example.net', numbers, 'org_a');
  await offer('bulk', 'example.net', [400], 'org_b');
  expect(queues.saturated('bulk')).toEqual(['example.net org_a']);
  await offer('bulk', SUSPENDED, [401], 'org_b');
  expect(queues.saturated('bulk')).toEqual(['example.net org_a', `${SUSPENDED} org_b`]);
});

test('a recipient domain is saturated for 4 s after its mail was refused, and not by a duplicate', async () => {
  const { system, queues, offer } = open();
  await offer('bulk', 'example.net', [1, 1]);
  expect(queues.saturated('bulk')).toEqual([]);
  await offer('bulk', SUSPENDED, [2]);
  expect(queues.saturated('bulk')).toEqual([`${SUSPENDED} `]);
  expect(queues.saturated('transactional')).toEqual([]);
  await system.advance(4_000);
  expect(queues.saturated('bulk')).toEqual([]);
});

/** Queues for a single server. The log answers only when a test wants it to: there are no such messages. */
const openForOneServer = () => {
  const loaded: string[] = [];
  const answers: (() => void)[] = [];
  let isAnswering = false;
  const parts = {
    ...{ system: createSteppableSystem(), logger: silentLogger, acceptedCache: { take: () => undefined } },
    store: {
      readStream: (stream: string) => {
        loaded.push(stream);
        if (isAnswering) return Promise.resolve([]);
        return new Promise<readonly never[]>((resolve) => answers.push(() => resolve([])));
      },
    },
    recentlyQueued: { addNotDue: () => undefined },
    destinationLimits: {},
  };
  const queues = createDestinationQueues(parts as unknown as DestinationQueuesParts);
  const answerOne = async (): Promise<void> => {
    answers.shift()?.();
    await turn();
  };
  const answerAll = async (): Promise<void> => {
    isAnswering = true;
    while (answers.length > 0) await answerOne();
  };
  const work = async (ids: readonly number[], organizationId?: string): Promise<void> => {
    const due = ids.map((id) => ({ messageId: `msg_${id}`, destination: null, organizationId }));
    await queues.handlerOf('transactional')({ due }, new AbortController().signal);
    await turn();
  };
  return { queues, loaded, answerOne, answerAll, work };
};

/** Messages of an organization that are delivered to a single server at the same time. */
const CONCURRENCY = 96;
const MORE = Array.from({ length: CONCURRENCY + 1 }, (_, index) => index);

test('a job for a single server ends at once, and each message is sent once', async () => {
  const { work, answerAll, loaded, queues } = openForOneServer();
  await work([...MORE, 1, 2]);
  expect(loaded).toHaveLength(CONCURRENCY);
  await answerAll();
  expect(new Set(loaded).size).toBe(MORE.length);
  expect(loaded).toHaveLength(MORE.length);
  await queues.close();
});

test('an organization is served at once by a single server, however much of another waits', async () => {
  const { work, loaded, queues } = openForOneServer();
  await work(
    Array.from({ length: 12_000 }, (_, index) => index),
    'org_a',
  );
  expect(queues.saturated('transactional')).toEqual([' org_a']);
  expect(loaded).toHaveLength(CONCURRENCY);
  await work([20_000], 'org_b');
  expect(loaded.slice(CONCURRENCY)).toEqual(['message-msg_20000']);
  expect(queues.saturated('transactional')).toEqual([' org_a']);
});

test('an organization whose mail hangs at a single server leaves places for all that others send', async () => {
  const { queues, loaded, work } = openForOneServer();
  const ids = (from: number) => Array.from({ length: 1_000 }, (_, index) => from + index);
  await work(ids(0), 'org_a');
  await work(ids(1_000), 'org_b');
  expect(loaded.length).toBeGreaterThan(CONCURRENCY);
  await work([2_000], 'org_c');
  expect(loaded).toContain('message-msg_2000');
  void queues.close();
});

test('no more mail waits for a destination than its rate limit sends in time', async () => {
  const { queues, offer } = open();
  const numbers = Array.from({ length: 6 }, (_, index) => index); // one of them is sent
  await offer('bulk', SLOW, numbers);
  expect(queues.saturated('bulk')).toEqual([]);
  await offer('bulk', SLOW, [6]);
  expect(queues.saturated('bulk')).toEqual([`${SLOW} `]);
});

/** Queues with these parts that deliver a message which is due. */
const openDelivering = async (more: Partial<DestinationQueuesParts>) => {
  const service = closedAfterTest(await openService());
  const messageId = await service.send('ann@example.org');
  const { dependencies, context } = service;
  const system = { ...createSteppableSystem({ start: context.system.now().toISOString() }), uuid: context.system.uuid };
  const queues = createDestinationQueues({
    ...{ store: dependencies.store, contents: dependencies.contents, secrets: dependencies.secrets, system },
    ...{ logger: silentLogger, transports: dependencies.transports, times: dependencies.times },
    ...{ publicUrl: dependencies.publicUrl, trackingKeys: dependencies.trackingKeys },
    sendingDomains: createSendingDomains({ secrets: dependencies.secrets }),
    acceptedCache: { take: () => undefined },
    recentlyQueued: { addNotDue: () => undefined },
    destinationLimits: {} as DestinationQueuesParts['destinationLimits'],
    suspend: async () => undefined,
    ...more,
  });
  const work = (destination: string | null, isExpired = false) =>
    queues.handlerOf('transactional')(
      { due: [{ messageId, destination, ...(isExpired ? { isExpired } : {}) }] },
      new AbortController().signal,
    );
  return { service, messageId, system, queues, work };
};

const accepting: MailTransport = {
  send: async ({ envelope }) =>
    envelope.to.map(({ recipientId }) => ({
      ...{ recipientId, outcome: 'delivered', code: 250, enhanced: null, mx: null, tls: null, text: 'Ok' },
    })),
  close: async () => undefined,
};

test('a suspension is recorded even if the log is away for a moment, and a stop waits for it', async () => {
  const suspension = { operator: 'example.org', times: 1, until: '9999' } as never;
  const recorded: unknown[] = [];
  let tries = 0;
  const { queues, work, system, service, messageId } = await openDelivering({
    transports: { live: accepting, test: accepting },
    destinations: { providerOf: async (domain) => domain },
    destinationLimits: {
      ...{ concurrencyOf: () => 1, waitMsOf: () => 0, capacityOf: () => 1, started: () => undefined },
      ...{ destinationOf: async (domain: string) => domain, isSuspendedFor: () => false, report: () => [suspension] },
    } as unknown as DestinationQueuesParts['destinationLimits'],
    suspend: async (one) => {
      tries += 1;
      if (tries < 3) throw new Error('the log is away');
      recorded.push(one);
    },
  });
  await work('example.org');
  await expect.poll(async () => (await service.history(messageId)).at(-1)).toBe('RecipientDelivered');
  await expect.poll(() => tries).toBe(1);
  let isClosed = false;
  const closed = queues.close().then(() => {
    isClosed = true;
  });
  for (let turns = 0; turns < 20; turns += 1) await turn();
  expect([isClosed, recorded]).toEqual([false, []]);
  await system.advance(200);
  await expect.poll(() => tries).toBe(2);
  await system.advance(400);
  await closed;
  expect(recorded).toEqual([suspension]);
});

test('the outcome of mail that seemed expired, and was sent after all, limits no destination', async () => {
  const reports: unknown[] = [];
  const report = (one: unknown): readonly never[] => {
    reports.push(one);
    return [];
  };
  const { queues, work, service, messageId } = await openDelivering({
    transports: { live: accepting, test: accepting },
    destinations: { providerOf: async (domain) => domain },
    destinationLimits: {
      ...{ concurrencyOf: () => 1, waitMsOf: () => 0, capacityOf: () => 1, started: () => undefined },
      ...{ destinationOf: async (domain: string) => domain, isSuspendedFor: () => false, report },
    } as unknown as DestinationQueuesParts['destinationLimits'],
  });
  await work('example.org', true);
  await expect.poll(async () => (await service.history(messageId)).at(-1)).toBe('RecipientDelivered');
  await queues.close();
  expect(reports).toEqual([]);
});

test('a stop lets an attempt continue for 5 s, and is over after 8 s even if the attempt hangs', async () => {
  const signals: AbortSignal[] = [];
  const hanging: MailTransport = {
    send: async (_, { signal }) => {
      if (signal !== undefined) signals.push(signal);
      return new Promise(() => undefined);
    },
    close: async () => undefined,
  };
  const { queues, system, work } = await openDelivering({ transports: { live: hanging, test: hanging } });
  void work(null);
  await expect.poll(() => signals.length).toBe(1);
  let isClosed = false;
  const closed = queues.close().then(() => {
    isClosed = true;
  });
  await system.advance(4_999);
  expect(signals[0]?.aborted).toBe(false);
  await system.advance(1);
  expect(signals[0]?.aborted).toBe(true);
  await system.advance(2_999);
  expect(isClosed).toBe(false);
  await system.advance(1);
  await closed;
});

test('a stop ends as soon as nothing is under way', async () => {
  const { queues, system } = open();
  await queues.close();
  expect(system.monotonicMs()).toBe(0);
});
