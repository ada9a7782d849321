import { describe, expect, test } from 'vitest';
import type { EventStore, FollowedPage, RecordedEvent } from '../../../src/domain/kernel/event-store.ts';
import { messageStream } from '../../../src/domain/kernel/streams.ts';
import { dispatchMessages } from '../../../src/workers/delivery/dispatch.ts';
import {
  createRecentlyQueued,
  type DeliveryJob,
  type DeliveryQueue,
  type Destinations,
  type DueMail,
} from '../../../src/workers/delivery/due.ts';
import { messageAccepted, messageScheduled } from '../../support/controls/message.ts';
import { contextAt, NOW, recordedAs } from '../../support/specification.ts';
import { createSteppableSystem } from '../../support/system.ts';

/** Jobs in a queue at which nothing more is added. */
const FULL = 500;
/** A depth that was read less than this ago is not read again. */
const DEPTH_AGE_MS = 250;

const HEAD = '7';

interface RecordingQueue {
  readonly queue: DeliveryQueue;
  readonly added: DueMail[];
  depth: number;
  /** Number of times that the depth was read. */
  reads: number;
  /** Replaces the next answers to `depth`. */
  depthOf(): Promise<number>;
  /** Called when jobs are added. */
  onAdd(): Promise<void>;
}

const recordingQueue = (): RecordingQueue => {
  const recording: RecordingQueue = {
    added: [],
    depth: 0,
    reads: 0,
    depthOf: async () => recording.depth,
    onAdd: async () => undefined,
    queue: {
      add: async (jobs) => {
        await recording.onAdd();
        recording.added.push(...jobs.flatMap(({ data }: { data: DeliveryJob }) => data.due));
      },
      depth: () => {
        recording.reads += 1;
        return recording.depthOf();
      },
    } as DeliveryQueue,
  };
  return recording;
};

/** A running dispatcher that gets pages of events one by one. */
const open = ({ destinations }: { destinations?: Destinations } = {}) => {
  const system = createSteppableSystem({ start: NOW });
  const transactional = recordingQueue();
  const bulk = recordingQueue();
  const recentlyQueued = createRecentlyQueued(system);
  const remembered: string[] = [];
  const subscribed: unknown[] = [];
  let has = (_: string): boolean => true;
  let worked = 0;
  let next = Promise.withResolvers<FollowedPage>();
  let asked = Promise.withResolvers<void>();

  async function* subscribe(from: string, filter: object): AsyncGenerator<FollowedPage> {
    subscribed.push(from, filter);
    for (;;) {
      asked.resolve();
      yield await next.promise;
    }
  }
  const work = dispatchMessages({
    store: { head: async () => HEAD, subscribe: subscribe as EventStore['subscribe'] },
    queues: { transactional: transactional.queue, bulk: bulk.queue },
    destinations,
    recentlyQueued,
    acceptedCache: { add: (events) => void remembered.push(...events.map(({ data }) => data.messageId)) },
    share: { isEmpty: () => false, has: (id) => has(id) },
    system,
  });
  const ended = work(new AbortController().signal, () => {
    worked += 1;
  });
  ended.catch(() => undefined); // thrown to the next page

  /** Dispatches these events as one page. Resolves when the next page is asked for. */
  const page = async (...events: readonly RecordedEvent[]): Promise<void> => {
    await Promise.race([asked.promise, ended]);
    const { resolve } = next;
    next = Promise.withResolvers();
    asked = Promise.withResolvers();
    resolve({ events, position: '8', isFull: false });
    await Promise.race([asked.promise, ended]);
  };
  return {
    ...{ system, transactional, bulk, recentlyQueued, remembered, subscribed, page },
    worked: () => worked,
    /** Sets which messages belong to this process. */
    share: (next: (messageId: string) => boolean) => {
      has = next;
    },
    /** Dispatches each event as a page of its own. */
    pages: async (...events: readonly RecordedEvent[]): Promise<void> => {
      for (const event of events) await page(event);
    },
  };
};

const recorded = (messageId: string, event: Parameters<typeof recordedAs>[0], environment: 'live' | 'test' = 'live') =>
  recordedAs(
    event,
    { id: `evt_${messageId}`, stream: messageStream(messageId), position: '8' },
    {
      ...contextAt(NOW),
      environment,
    },
  ) as RecordedEvent;

const accepted = (
  messageId: string,
  data: Partial<Parameters<typeof messageAccepted>[0]> = {},
  environment: 'live' | 'test' = 'live',
) => recorded(messageId, messageAccepted({ messageId, ...data }), environment);

const numbered = (count: number, prefix = 'msg'): readonly RecordedEvent[] =>
  Array.from({ length: count }, (_, index) => accepted(`${prefix}_${index}`));

const idsIn = ({ added }: RecordingQueue): readonly string[] => added.map(({ messageId }) => messageId);

describe('dispatch', () => {
  test('begins at the head of the log, with messages alone, and reports each page as progress', async () => {
    const { pages, subscribed, worked, transactional } = open();
    await pages(...numbered(3));
    expect(subscribed).toEqual([HEAD, { categories: ['message'] }]);
    expect(idsIn(transactional)).toEqual(['msg_0', 'msg_1', 'msg_2']);
    expect(worked()).toBe(3);
  });

  test('queues nothing that belongs to another process', async () => {
    const { page, share, transactional, remembered, recentlyQueued } = open();
    share((id) => id === 'msg_2');
    await page(accepted('msg_1'));
    expect([idsIn(transactional), remembered]).toEqual([[], []]);
    expect(recentlyQueued.has({ messageId: 'msg_1', destination: null }, NOW)).toBe(false);
    await page(accepted('msg_1'), accepted('msg_2'));
    expect([idsIn(transactional), remembered]).toEqual([['msg_2'], ['msg_2']]);
  });

  test('leaves a scheduled message to the sweep', async () => {
    const { page, transactional } = open();
    await page(accepted('msg_1'), accepted('msg_2'), recorded('msg_1', messageScheduled({ messageId: 'msg_1' })));
    expect(idsIn(transactional)).toEqual(['msg_2']);
  });

  test('queues each message in the queue of its class, with its organization and its destinations', async () => {
    const { page, transactional, bulk } = open({ destinations: { providerOf: async (domain) => domain } });
    const recipients = ['a.test', 'b.test', 'a.test'].map((domain, index) => ({
      ...{ id: `rcp_${index}`, kind: 'to' as const, domain, digest: `digest-${index}` },
    }));
    await page(
      accepted('msg_1', { recipients }),
      accepted('msg_2', { stream: 'bulk' }),
      accepted('msg_3', { recipients }, 'test'),
    );
    const { organizationId } = contextAt(NOW);
    expect(transactional.added).toEqual([
      { messageId: 'msg_1', organizationId, destination: 'a.test' },
      { messageId: 'msg_1', organizationId, destination: 'b.test' },
      { messageId: 'msg_3', organizationId, destination: null },
    ]);
    expect(bulk.added).toEqual([{ messageId: 'msg_2', organizationId, destination: 'example.net' }]);
  });

  test('hands the message to the worker before its job', async () => {
    const { page, transactional, remembered } = open();
    let atHand: readonly string[] = [];
    transactional.onAdd = async () => {
      atHand = [...remembered];
    };
    await page(accepted('msg_1'));
    expect(atHand).toEqual(['msg_1']);
  });

  test('leaves a message to the sweep at once if the queue refuses it', async () => {
    const { page, transactional, recentlyQueued } = open();
    const due = { messageId: 'msg_1', destination: null };
    transactional.onAdd = async () => {
      throw new Error('the queue is away');
    };
    await expect(page(accepted('msg_1'))).rejects.toThrow('the queue is away');
    expect(recentlyQueued.has(due, NOW)).toBe(false);
    const accepting = open();
    await accepting.page(accepted('msg_1'));
    expect(accepting.recentlyQueued.has(due, NOW)).toBe(true);
  });
});

describe('the depth of the queue', () => {
  test.each([
    [FULL - 1, ['msg_1']],
    [FULL, []],
  ])('of %i jobs allows these messages to be added: %j', async (depth, added) => {
    const { page, transactional } = open();
    transactional.depth = depth;
    await page(accepted('msg_1'));
    expect(idsIn(transactional)).toEqual(added);
  });

  test('is counted between two readings, in jobs', async () => {
    const { pages, transactional } = open();
    transactional.depth = FULL - 3;
    await pages(...numbered(10));
    expect(idsIn(transactional)).toEqual(['msg_0', 'msg_1', 'msg_2']);
    expect(transactional.reads).toBe(1);
  });

  test('counts messages of one page as one job', async () => {
    const { page, transactional } = open();
    transactional.depth = FULL - 2;
    await page(...numbered(50));
    await page(accepted('msg_next'));
    expect(idsIn(transactional)).toHaveLength(51);
  });

  test('of one class does not hold up the other', async () => {
    const { page, transactional, bulk } = open();
    bulk.depth = FULL;
    await page(accepted('msg_1'), accepted('msg_2', { stream: 'bulk' }));
    expect([idsIn(transactional), idsIn(bulk)]).toEqual([['msg_1'], []]);
    const other = open();
    other.transactional.depth = FULL;
    await other.page(accepted('msg_1'), accepted('msg_2', { stream: 'bulk' }));
    expect([idsIn(other.transactional), idsIn(other.bulk)]).toEqual([[], ['msg_2']]);
  });

  test('is counted for each class separately', async () => {
    const { pages, transactional, bulk } = open();
    transactional.depth = bulk.depth = FULL - 1;
    const bulkMessages = ['msg_1', 'msg_2'].map((messageId) => accepted(messageId, { stream: 'bulk' }));
    await pages(...bulkMessages, accepted('msg_3'), accepted('msg_4'));
    expect([idsIn(bulk), idsIn(transactional)]).toEqual([['msg_1'], ['msg_3']]);
  });

  test('is read again after a while, and a queue that was full is used as soon as it has room', async () => {
    const { page, system, transactional } = open();
    transactional.depth = FULL;
    await page(accepted('msg_1'));
    transactional.depth = 0;
    await system.advance(DEPTH_AGE_MS);
    await page(accepted('msg_2'));
    expect([idsIn(transactional), transactional.reads]).toEqual([[], 1]);
    await system.advance(1);
    await page(accepted('msg_3'));
    expect([idsIn(transactional), transactional.reads]).toEqual([['msg_3'], 2]);
  });

  test('stops messages soon after the queue has filled up', async () => {
    const { page, system, transactional } = open();
    await page(accepted('msg_1'));
    transactional.depth = FULL;
    await system.advance(DEPTH_AGE_MS + 1);
    await page(accepted('msg_2')); // reads the depth
    await page(accepted('msg_3'));
    expect(idsIn(transactional)).toEqual(['msg_1', 'msg_2']);
  });

  test('is not awaited while the queue had room, and may fail to be read', async () => {
    const { page, system, transactional } = open();
    await page(accepted('msg_1'));
    transactional.depthOf = () => new Promise(() => undefined);
    await system.advance(DEPTH_AGE_MS + 1);
    await page(accepted('msg_2'));
    transactional.depthOf = () => Promise.reject(new Error('the queue is away'));
    await system.advance(DEPTH_AGE_MS + 1);
    await page(accepted('msg_3'));
    expect(idsIn(transactional)).toEqual(['msg_1', 'msg_2', 'msg_3']);
  });
});
