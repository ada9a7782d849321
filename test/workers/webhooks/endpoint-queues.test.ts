import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { CustomerEvent } from '../../../src/domain/customer-events/customer-events.ts';
import type { EventStore } from '../../../src/domain/kernel/event-store.ts';
import type { FinishedTry, WebhookAnswer } from '../../../src/domain/ports/webhooks.ts';
import { createEndpointQueues } from '../../../src/workers/webhooks/endpoint-queues.ts';
import { type PreparedPost, WEBHOOK_TIMES } from '../../../src/workers/webhooks/post-once.ts';
import { createSteppableSystem } from '../../support/system.ts';
import { createRecordingLogger } from '../recording-logger.ts';

/** Posts to one endpoint at the same time. */
const AT_ONCE = 8;
/** Deliveries claimed for an endpoint that succeeds. */
const CLAIMED_MAX = 128;
/** Deliveries claimed for one organization: for endpoints not known to succeed, and for the others. */
const PROBES_MAX = 64;
const POSTS_MAX = 1_024;
/** A post that has waited longer may have lost its lease. */
const START_WITHIN_MS = 35_000;
const MANY = 10_000;

/** Enough turns of the event loop for anything that does not wait. */
const turns = async (): Promise<void> => {
  for (let count = 0; count < 20; count += 1) await turn();
};

const URL_OF = (webhookId: string): string => `http://${webhookId}.test`;

interface OpenPost {
  readonly webhookId: string;
  readonly id: string;
  answer(status: number | null): void;
  fail(error: Error): void;
}

/** Queues whose posts are answered by the test. */
const open = () => {
  const system = createSteppableSystem();
  const logger = createRecordingLogger();
  /** Posts without an answer. */
  const posts: OpenPost[] = [];
  const posted: string[] = [];
  const recorded: FinishedTry[] = [];
  const low: string[] = [];
  let recordFaults = 0;
  const queues = createEndpointQueues({
    ...{ system, logger, webhookTimes: WEBHOOK_TIMES, store: {} as EventStore },
    webhookTarget: {
      problemWith: async () => null,
      close: async () => undefined,
      post: ({ url, headers }) =>
        new Promise<WebhookAnswer>((resolve, reject) => {
          const id = headers['webhook-id'] ?? '';
          posted.push(id);
          const end = (): void => void posts.splice(posts.indexOf(open), 1);
          const open: OpenPost = {
            ...{ webhookId: new URL(url).hostname.split('.')[0] ?? '', id },
            answer: (status) => {
              end();
              resolve({ status, durationMs: 1, text: '', retryAfterSeconds: null });
            },
            fail: (error) => {
              end();
              reject(error);
            },
          };
          posts.push(open);
        }),
    },
    webhookDeliveries: {
      finish: async (tries) => {
        if (recordFaults > 0) {
          recordFaults -= 1;
          throw new Error('the database is away');
        }
        recorded.push(...tries);
      },
      failingSince: async () => new Map(),
    },
    endpoints: { get: () => undefined },
    onLow: ({ webhookId }) => void low.push(webhookId),
  });
  const add = (webhookId: string, ids: readonly string[], organizationId = 'org_1'): void => {
    for (const id of ids) {
      const event = { id, organizationId } as CustomerEvent;
      const post: PreparedPost = {
        ...{ delivery: { id, webhookId, event, attempts: 0 }, url: URL_OF(webhookId) },
        ...{ secrets: [], headers: {}, body: { content: '{}' } },
      };
      queues.add(post);
    }
  };
  /** Answers all open posts of an endpoint, and those that follow, with this status. */
  const answerAll = async (webhookId: string, status: number | null): Promise<void> => {
    await turn();
    for (let next = posts.find((one) => one.webhookId === webhookId); next !== undefined; ) {
      next.answer(status);
      await turn();
      next = posts.find((one) => one.webhookId === webhookId);
    }
    await turns();
  };
  const allotted = (webhookIds: readonly string[], share = MANY, organizationId = 'org_1'): readonly number[] =>
    queues
      .allot(
        webhookIds.map((webhookId) => ({ webhookId, organizationId })),
        share,
      )
      .map(({ limit }) => limit);
  return {
    ...{ system, logger, queues, posts, posted, recorded, low, add, answerAll, allotted },
    failRecords: (count: number) => {
      recordFaults = count;
    },
    succeeds: async (webhookId: string, organizationId = 'org_1') => {
      add(webhookId, [`first_${webhookId}`], organizationId);
      await answerAll(webhookId, 204);
    },
  };
};

const idsOf = (count: number, prefix = 'dlv'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}_${index}`);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

describe('an endpoint', () => {
  test('gets eight posts at a time, the next when one is answered, in order', async () => {
    const { add, posts, posted } = open();
    add('a', idsOf(20));
    await turn();
    expect(posted).toEqual(idsOf(AT_ONCE));
    posts[3]?.answer(204);
    await turn();
    expect(posted).toEqual(idsOf(AT_ONCE + 1));
  });

  test('may be claimed for once until it succeeds, and only once again when it fails', async () => {
    const { add, answerAll, allotted, succeeds, queues } = open();
    expect([allotted(['a']), queues.isSucceeding('a')]).toEqual([[1], false]);
    await succeeds('a');
    expect([allotted(['a']), allotted(['a'], 10), queues.isSucceeding('a')]).toEqual([[CLAIMED_MAX], [10], true]);
    for (const status of [500, null, 302]) {
      await succeeds('a');
      add('a', ['dlv']);
      await answerAll('a', status);
      expect([allotted(['a']), queues.isSucceeding('a')]).toEqual([[1], false]);
    }
  });

  test('may be claimed for less by what it has already, and not at all without room', async () => {
    const { add, allotted, succeeds, queues } = open();
    const endpoints = [{ webhookId: 'a', organizationId: 'org_1' }];
    add('b', ['dlv_b']);
    expect([allotted(['b']), queues.inTurn([{ webhookId: 'b', organizationId: 'org_1' }])]).toEqual([[], []]);
    await succeeds('a');
    add('a', idsOf(100));
    expect([allotted(['a']), queues.inTurn(endpoints)]).toEqual([[28], endpoints]);
    add('a', idsOf(28, 'more'));
    expect([allotted(['a']), queues.inTurn(endpoints)]).toEqual([[], []]);
  });

  test('has its turn by the time that it was last claimed for', async () => {
    const { allotted, queues } = open();
    const endpoints = ['a', 'b', 'c'].map((webhookId) => ({ webhookId, organizationId: 'org_1' }));
    const order = () => queues.inTurn(endpoints).map(({ webhookId }) => webhookId);
    allotted(['b']);
    allotted(['a']);
    expect(order()).toEqual(['c', 'b', 'a']);
    allotted(['c']);
    allotted(['b']);
    expect(order()).toEqual(['a', 'c', 'b']);
  });

  test('that succeeds and has few posts waiting asks for more, and one that fails does not', async () => {
    const { add, answerAll, low, succeeds } = open();
    add('a', ['dlv_a']);
    await answerAll('a', 500);
    expect(low).toEqual([]);
    await succeeds('b');
    expect(low).toEqual(['b']);
    add('b', idsOf(100));
    await turn();
    low.length = 0;
    await answerAll('b', 204);
    expect(low.length).toBeGreaterThan(0);
    expect(low.length).toBeLessThan(100); // not while many waited
  });
});

describe('an organization', () => {
  test('may have 64 deliveries claimed for endpoints not known to succeed, and again when they have ended', async () => {
    const { add, answerAll, allotted } = open();
    const endpoints = idsOf(100, 'w');
    expect(sum(allotted(endpoints))).toBe(PROBES_MAX);
    for (const webhookId of endpoints.slice(0, PROBES_MAX)) add(webhookId, [`dlv_${webhookId}`]);
    await turn();
    expect([allotted(endpoints), allotted(['other'], MANY, 'org_2')]).toEqual([[], [1]]);
    for (const webhookId of endpoints.slice(0, 10)) await answerAll(webhookId, 500);
    expect(sum(allotted(endpoints))).toBe(10);
    for (const webhookId of endpoints.slice(10, PROBES_MAX)) await answerAll(webhookId, 500);
    expect(sum(allotted(endpoints))).toBe(PROBES_MAX);
  });

  test('may have 1,024 claimed for all others, and again when they have ended', async () => {
    const { add, answerAll, allotted, succeeds } = open();
    const endpoints = idsOf(10, 'w');
    for (const webhookId of endpoints) await succeeds(webhookId);
    expect(sum(allotted(endpoints))).toBe(POSTS_MAX);
    for (const webhookId of endpoints.slice(0, 8)) add(webhookId, idsOf(CLAIMED_MAX, `dlv_${webhookId}`));
    expect([allotted(endpoints), allotted(['probe'])]).toEqual([[], [1]]);
    await answerAll('w_0', 204);
    expect(sum(allotted(endpoints))).toBe(CLAIMED_MAX);
  });
});

describe('a post', () => {
  test.each([
    [START_WITHIN_MS, true],
    [START_WITHIN_MS + 1, false],
  ])('that waited for %i ms since its claim is made: %s', async (waitedMs, isMade) => {
    const { add, system, posts, posted, recorded } = open();
    add('a', [...idsOf(AT_ONCE), 'last']);
    await turn();
    await system.advance(waitedMs);
    for (const { answer } of [...posts]) answer(204);
    await turns();
    expect(posted.includes('last')).toBe(isMade);
    expect(recorded).toHaveLength(AT_ONCE);
  });

  test('is made by a later claim if the earlier one is too old, and only once', async () => {
    const { add, system, answerAll, posted } = open();
    add('a', [...idsOf(AT_ONCE), 'last']);
    await turn();
    await system.advance(START_WITHIN_MS + 1);
    add('a', ['last']);
    await answerAll('a', 204);
    expect(posted.filter((id) => id === 'last')).toEqual(['last']);
  });

  test('is recorded even if the database is away for a moment', async () => {
    const { add, answerAll, system, recorded, failRecords, logger } = open();
    failRecords(2);
    add('a', ['dlv']);
    await answerAll('a', 204);
    expect(recorded).toEqual([]);
    for (let waits = 0; waits < 4; waits += 1) {
      await system.advance(500);
      await turns();
    }
    expect(recorded.map(({ deliveryId, state }) => [deliveryId, state])).toEqual([['dlv', 'delivered']]);
    expect(logger.said('error')).toEqual([]); // although the endpoint was deleted since
  });

  test('that cannot be made is a failure of the endpoint, and is left to its lease', async () => {
    const { add, posts, recorded, queues, logger, succeeds } = open();
    await succeeds('a');
    add('a', ['dlv']);
    await turn();
    posts[0]?.fail(new Error('no more sockets'));
    await turns();
    expect(recorded.map(({ deliveryId }) => deliveryId)).toEqual(['first_a']);
    expect(queues.isSucceeding('a')).toBe(false);
    expect(logger.fieldsOf('error')).toMatchObject([{ delivery: 'dlv' }]);
  });
});

describe('a stop', () => {
  test('starts nothing more, names what it did not start, and ends with the last answer', async () => {
    const { add, answerAll, queues, posted, recorded } = open();
    add('a', idsOf(AT_ONCE + 3));
    await turn();
    const closed = queues.close(6_000);
    await answerAll('a', 204);
    expect((await closed).toSorted()).toEqual(['dlv_10', 'dlv_8', 'dlv_9']);
    expect([posted.length, recorded.length]).toEqual([AT_ONCE, AT_ONCE]);
  });

  test('waits for endpoints that hang no longer than it is allowed to', async () => {
    const { add, queues, system } = open();
    add('a', ['dlv']);
    await turn();
    let isClosed = false;
    const closed = queues.close(6_000).then(() => {
      isClosed = true;
    });
    await system.advance(5_999);
    expect(isClosed).toBe(false);
    await system.advance(1);
    await closed;
  });
});
